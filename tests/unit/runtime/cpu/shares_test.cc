#include "runtime/cpu/threads/shares.h"

#include <gtest/gtest.h>

#include <vector>

namespace stoker::cpu {
namespace {

std::vector<int> Of(const std::vector<int>& wanted, int cpus) {
  std::array<int, kMaxTeams> all{};
  std::ranges::copy(wanted, all.begin());
  const std::array<int, kMaxTeams> shares = FairShares(all, cpus);
  return {shares.begin(), shares.begin() + static_cast<std::ptrdiff_t>(wanted.size())};
}

TEST(FairShares, EachCase) {
  const struct {
    std::vector<int> wanted;
    int cpus;
    std::vector<int> shares;
  } cases[] = {
      {{8}, 8, {8}},
      {{8, 8}, 8, {4, 4}},
      {{8, 0, 8}, 8, {4, 0, 4}},
      {{7, 7}, 7, {4, 3}},
      {{8, 8, 8}, 8, {3, 3, 2}},
      {{8, 2}, 8, {6, 2}},
      {{2, 3, 16}, 16, {2, 3, 11}},
      {{4, 4}, 16, {4, 4}},
      {{2, 2}, 2, {1, 1}},
      {{2, 2, 2}, 2, {1, 1, 1}},
      {{5, 1, 5}, 2, {1, 1, 1}},
  };
  for (const auto& c : cases) EXPECT_EQ(Of(c.wanted, c.cpus), c.shares);
}

TEST(FairShares, AsManyCallersAsThereCanBe_OneEach) {
  std::array<int, kMaxTeams> wanted{};
  wanted.fill(16);
  for (const int share : FairShares(wanted, 16)) EXPECT_EQ(share, 1);
}

}  // namespace
}  // namespace stoker::cpu
