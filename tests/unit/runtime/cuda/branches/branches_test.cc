#include "runtime/cuda/branches/branches.h"

#include <gtest/gtest.h>

#include "tests/unit/runtime/cuda/branches/test_works.h"

namespace stoker::cuda {
namespace {

std::string TableOf(const std::vector<Work>& works) { return Branches::Of(works).ToString(); }

TEST(BranchesTest, NoWorks_EndAtOnce) { EXPECT_EQ(TableOf({}), "end\n"); }

TEST(BranchesTest, Chain_IsOneBranch) {
  EXPECT_EQ(TableOf({Touching({}, {{0, 4}}), Touching({{0, 4}}, {{4, 8}}),
                     Touching({{4, 8}}, {{0, 4}}), Touching({{0, 8}}, {{8, 12}})}),
            "0: branch 0\n"
            "1: branch 0 after 0\n"
            "2: branch 0 after 1\n"
            "3: branch 0 after 2\n"
            "end after 3\n");
}

// Queries, keys and values of one input, then what reads them all.
TEST(BranchesTest, Diamond_IsABranchForEachSide) {
  EXPECT_EQ(
      TableOf({Touching({}, {{0, 4}}), Touching({{0, 4}}, {{4, 8}}), Touching({{0, 4}}, {{8, 12}}),
               Touching({{0, 4}}, {{12, 16}}), Touching({{4, 16}}, {{16, 20}})}),
      "0: branch 0\n"
      "1: branch 0 after 0\n"
      "2: branch 1 after 0\n"
      "3: branch 2 after 0\n"
      "4: branch 0 after 3 2 1\n"
      "end after 4\n");
}

TEST(BranchesTest, NothingBefore_BeginsSideBySide) {
  EXPECT_EQ(TableOf({Touching({}, {{0, 4}}), Touching({}, {{4, 8}})}),
            "0: branch 0\n"
            "1: branch 1\n"
            "end after 1 0\n");
}

TEST(BranchesTest, TinyWork_WaitsForItsTurn) {
  const double tiny = Branches::kLeastMicroseconds / 2;
  EXPECT_EQ(TableOf({Touching({}, {{0, 4}}), Touching({{0, 4}}, {{4, 8}}),
                     Touching({{0, 4}}, {{8, 12}}, tiny)}),
            "0: branch 0\n"
            "1: branch 0 after 0\n"
            "2: branch 0 after 1\n"
            "end after 2\n");
}

TEST(BranchesTest, BesideATinyWork_NothingIsWon) {
  const double tiny = Branches::kLeastMicroseconds / 2;
  EXPECT_EQ(TableOf({Touching({}, {{0, 4}}), Touching({{0, 4}}, {{4, 8}}, tiny),
                     Touching({{0, 4}}, {{8, 12}})}),
            "0: branch 0\n"
            "1: branch 0 after 0\n"
            "2: branch 0 after 1\n"
            "end after 2\n");
}

TEST(BranchesTest, WorkThatFillsTheGpu_WaitsForItsTurn) {
  const double large = 2 * Branches::kMostMicroseconds;
  EXPECT_EQ(TableOf({Touching({}, {{0, 4}}), Touching({{0, 4}}, {{4, 8}}),
                     Touching({{0, 4}}, {{8, 12}}, large), Touching({{0, 4}}, {{12, 16}})}),
            "0: branch 0\n"
            "1: branch 0 after 0\n"
            "2: branch 0 after 1\n"
            "3: branch 1 after 0\n"
            "end after 3 2\n");
}

// Results that would be apart lie where the one before them is still read.
TEST(BranchesTest, MemoryThatIsUsedAgain_KeepsItsOrder) {
  EXPECT_EQ(
      TableOf({Touching({}, {{0, 4}}), Touching({{0, 4}}, {{4, 8}}), Touching({{4, 8}}, {{20, 24}}),
               Touching({{0, 4}}, {{4, 8}}), Touching({{4, 8}}, {{24, 28}})}),
      "0: branch 0\n"
      "1: branch 0 after 0\n"
      "2: branch 0 after 1\n"
      "3: branch 0 after 2\n"
      "4: branch 0 after 3\n"
      "end after 4\n");
}

// An output in the memory of an input: another work reads that first.
TEST(BranchesTest, InputThatIsUpdated_IsReadBefore) {
  EXPECT_EQ(TableOf({Touching({{0, 8}}, {{8, 16}}), Touching({}, {{0, 8}})}),
            "0: branch 0\n"
            "1: branch 0 after 0\n"
            "end after 1\n");
}

TEST(BranchesTest, Pause_JoinsAll) {
  EXPECT_EQ(TableOf({Touching({}, {{0, 4}}), Touching({}, {{4, 8}}), Barrier(),
                     Touching({{0, 4}}, {{8, 12}}), Touching({{4, 8}}, {{12, 16}})}),
            "0: branch 0\n"
            "1: branch 1\n"
            "2: branch 0 after 1 0\n"
            "3: branch 0 after 2\n"
            "4: branch 1 after 2\n"
            "end after 4 3\n");
}

TEST(BranchesTest, MoreThanBranches_WaitForTheFirstThatIsFree) {
  std::vector<Work> works = {Touching({}, {{0, 4}})};
  for (std::uint64_t i = 1; i <= 5; ++i) {
    works.push_back(Touching({{0, 4}}, {{4 * i, 4 * i + 4}}, 3 * static_cast<double>(6 - i)));
  }
  EXPECT_EQ(TableOf(works),
            "0: branch 0\n"
            "1: branch 0 after 0\n"
            "2: branch 1 after 0\n"
            "3: branch 2 after 0\n"
            "4: branch 3 after 0\n"
            "5: branch 3 after 4\n"
            "end after 5 3 2 1\n");
}

// Gradients of weights beside the chain that goes on without them: the first branch that is free.
TEST(BranchesTest, SidesOfAChain_HaveBranches) {
  std::vector<Work> works;
  for (std::uint64_t i = 0; i < 5; ++i) {
    works.push_back(Touching({{4 * i, 4 * i + 4}}, {{4 * i + 4, 4 * i + 8}}));
    works.push_back(Touching({{4 * i, 4 * i + 4}}, {{100 + 4 * i, 104 + 4 * i}}, 5));
  }
  EXPECT_EQ(TableOf(works),
            "0: branch 0\n"
            "1: branch 1\n"
            "2: branch 0 after 0\n"
            "3: branch 2 after 0\n"
            "4: branch 0 after 2\n"
            "5: branch 3 after 2\n"
            "6: branch 0 after 4\n"
            "7: branch 1 after 4 1\n"
            "8: branch 0 after 6\n"
            "9: branch 2 after 6 3\n"
            "end after 9 8 7 5\n");
}

TEST(BranchesTest, Workspace_IsTheMostOfABranch) {
  std::vector<Work> works = {Touching({}, {{0, 4}}), Touching({{0, 4}}, {{4, 8}}),
                             Touching({{0, 4}}, {{8, 12}})};
  works[0].workspace_bytes = 300;
  works[1].workspace_bytes = 200;
  works[2].workspace_bytes = 100;
  const Branches branches = Branches::Of(works);
  ASSERT_EQ(branches.count(), 2U);
  EXPECT_EQ(branches.WorkspaceBytes(0), 300);
  EXPECT_EQ(branches.WorkspaceBytes(1), 100);
}

}  // namespace
}  // namespace stoker::cuda
