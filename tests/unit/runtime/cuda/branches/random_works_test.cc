// Of random works: what touches the same memory is in order, whatever was chosen.
#include <gtest/gtest.h>

#include <random>

#include "runtime/cuda/branches/branches.h"
#include "tests/unit/runtime/cuda/branches/test_works.h"

namespace stoker::cuda {
namespace {

std::vector<Work> RandomWorks(std::mt19937& random) {
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  const std::uint64_t bytes = 8 + below(400);  // Fewer: more of them in each other's way.
  const auto extents = [&](std::uint64_t most) {
    std::vector<Extent> made(below(most + 1));
    for (Extent& extent : made) {
      extent.memory = static_cast<std::uint32_t>(below(2));
      extent.begin = below(bytes);
      extent.end = extent.begin + below(bytes / 4 + 1);
    }
    return made;
  };
  std::vector<Work> works(1 + below(60));
  for (Work& work : works) {
    work.reads = extents(3);
    work.writes = extents(2);
    work.microseconds = static_cast<double>(below(100)) / 10;
    work.workspace_bytes = static_cast<std::int64_t>(below(3)) * 1000;
    work.is_barrier = below(20) == 0;
  }
  return works;
}

bool Overlap(const std::vector<Extent>& some, const std::vector<Extent>& others) {
  for (const Extent& a : some) {
    for (const Extent& b : others) {
      if (a.memory == b.memory && std::max(a.begin, b.begin) < std::min(a.end, b.end)) return true;
    }
  }
  return false;
}

bool MustBeInOrder(const Work& a, const Work& b) {
  return a.is_barrier || b.is_barrier || Overlap(a.writes, b.writes) ||
         Overlap(a.writes, b.reads) || Overlap(a.reads, b.writes);
}

// before[i][k]: k comes before i, by what each place says alone.
std::vector<std::vector<bool>> OrderOf(const Branches& branches) {
  const auto places = branches.places();
  std::vector<std::vector<bool>> before(places.size(), std::vector<bool>(places.size()));
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (const std::size_t after : places[i].after) {
      EXPECT_LT(after, i);
      before[i][after] = true;
      for (std::size_t k = 0; k < after; ++k) before[i][k] = before[i][k] || before[after][k];
    }
  }
  return before;
}

void Check(const std::vector<Work>& works) {
  const Branches branches = Branches::Of(works);
  const auto places = branches.places();
  const auto before = OrderOf(branches);
  ASSERT_EQ(places.size(), works.size());
  ASSERT_LE(branches.count(), Branches::kMost);
  for (std::size_t i = 0; i < works.size(); ++i) {
    ASSERT_LT(places[i].branch, branches.count());
    EXPECT_LE(works[i].workspace_bytes, branches.WorkspaceBytes(places[i].branch));
    for (std::size_t k = 0; k < i; ++k) {
      // A branch's works take turns with its workspace.
      const bool share = places[i].branch == places[k].branch;
      if (share || MustBeInOrder(works[k], works[i])) {
        EXPECT_TRUE(before[i][k]) << k << " and " << i << "\n" << branches.ToString();
      }
    }
    for (const std::size_t a : places[i].after) {
      for (const std::size_t b : places[i].after) EXPECT_FALSE(before[a][b]) << "One is enough.";
    }
  }
  std::vector<bool> ends(works.size());
  for (const std::size_t last : branches.last()) {
    ends[last] = true;
    for (std::size_t k = 0; k < last; ++k) ends[k] = ends[k] || before[last][k];
  }
  EXPECT_EQ(std::ranges::count(ends, false), 0) << branches.ToString();
  EXPECT_EQ(Branches::Of(works).ToString(), branches.ToString());
}

TEST(RandomWorksTest, WhatTouchesTheSame_IsInOrder) {
  std::mt19937 random(20261125);
  std::size_t branched = 0;
  for (int i = 0; i < 400 && !testing::Test::HasFailure(); ++i) {
    const std::vector<Work> works = RandomWorks(random);
    Check(works);
    if (Branches::Of(works).count() > 1) ++branched;
  }
  EXPECT_GT(branched, 200U) << "Nothing is tested of chains.";
}

}  // namespace
}  // namespace stoker::cuda
