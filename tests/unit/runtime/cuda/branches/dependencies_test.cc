#include "runtime/cuda/branches/dependencies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/runtime/cuda/branches/test_works.h"

namespace stoker::cuda {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(DependenciesTest, Read_ComesAfterTheWriterOfAnyByte) {
  const std::vector<Work> works = {Touching({}, {{0, 4}}), Touching({}, {{4, 8}}),
                                   Touching({{3, 5}}, {}), Touching({{4, 5}}, {})};
  EXPECT_THAT(DependenciesOf(works),
              ElementsAre(IsEmpty(), IsEmpty(), ElementsAre(0, 1), ElementsAre(1)));
}

TEST(DependenciesTest, Reads_OfTheSame_AreApart) {
  const std::vector<Work> works = {Touching({}, {{0, 8}}), Touching({{0, 8}}, {}),
                                   Touching({{0, 8}}, {}), Touching({{7, 9}}, {})};
  EXPECT_THAT(DependenciesOf(works),
              ElementsAre(IsEmpty(), ElementsAre(0), ElementsAre(0), ElementsAre(0)));
}

// Memory that is used again.
TEST(DependenciesTest, Write_ComesAfterReadersAndWriters) {
  const std::vector<Work> works = {Touching({}, {{0, 8}}), Touching({{0, 4}}, {{20, 24}}),
                                   Touching({{4, 8}}, {{24, 28}}), Touching({}, {{0, 4}}),
                                   Touching({}, {{2, 6}})};
  EXPECT_THAT(DependenciesOf(works), ElementsAre(IsEmpty(), ElementsAre(0), ElementsAre(0),
                                                 ElementsAre(0, 1), ElementsAre(0, 2, 3)));
}

TEST(DependenciesTest, Write_OfWhatItReads_IsNoDependencyOnItself) {
  const std::vector<Work> works = {Touching({{0, 8}}, {{0, 8}}), Touching({{0, 8}}, {{4, 8}})};
  EXPECT_THAT(DependenciesOf(works), ElementsAre(IsEmpty(), ElementsAre(0)));
}

TEST(DependenciesTest, Memories_AreApart) {
  std::vector<Work> works = {Touching({}, {{0, 8}}), Touching({}, {{0, 8}})};
  works[1].writes[0].memory = 1;
  EXPECT_THAT(DependenciesOf(works), ElementsAre(IsEmpty(), IsEmpty()));
}

TEST(DependenciesTest, NoBytes_AreNothing) {
  const std::vector<Work> works = {Touching({}, {{4, 8}}), Touching({{6, 6}}, {{8, 8}}),
                                   Touching({}, {{4, 8}})};
  EXPECT_THAT(DependenciesOf(works), ElementsAre(IsEmpty(), IsEmpty(), ElementsAre(0)));
}

TEST(DependenciesTest, Barrier_KeepsAllApart) {
  const std::vector<Work> works = {
      Touching({}, {{0, 4}}), Touching({}, {{4, 8}}), Barrier(), Touching({}, {{8, 9}}), Barrier(),
      Touching({{0, 9}}, {})};
  EXPECT_THAT(DependenciesOf(works),
              ElementsAre(IsEmpty(), IsEmpty(), ElementsAre(0, 1), ElementsAre(2),
                          ElementsAre(2, 3), ElementsAre(4)));
}

}  // namespace
}  // namespace stoker::cuda
