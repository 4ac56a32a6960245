#include "runtime/cpu/arena_pool.h"

#include <gtest/gtest.h>

#include <utility>

namespace stoker::cpu {
namespace {

TEST(ArenaPool_Take, ReturnedArenaFits_IsUsedAgain) {
  ArenaPool pool;
  Region first = pool.Take(1000).value();
  std::byte* const data = first.data();
  pool.Return(std::move(first));
  EXPECT_EQ(pool.Take(500).value().data(), data);
}

TEST(ArenaPool_Take, SeveralFit_GivesTheSmallest) {
  ArenaPool pool;
  Region small = pool.Take(100).value();
  Region large = pool.Take(10000).value();
  std::byte* const data = small.data();
  pool.Return(std::move(large));
  pool.Return(std::move(small));
  EXPECT_EQ(pool.Take(100).value().data(), data);
}

TEST(ArenaPool_Take, NoneFits_ReplacesTheLargest) {
  ArenaPool pool;
  pool.Return(pool.Take(100).value());
  Region grown = pool.Take(200).value();
  EXPECT_GE(grown.size(), 200);
  pool.Return(std::move(grown));
  // The arena of 100 bytes is gone: a call that needs less gets the one that grew.
  EXPECT_EQ(pool.Take(50).value().size(), 200);
}

TEST(ArenaPool_Take, TwoAtOnce_AreDistinct) {
  ArenaPool pool;
  const Region a = pool.Take(100).value();
  const Region b = pool.Take(100).value();
  EXPECT_NE(a.data(), b.data());
}

}  // namespace
}  // namespace stoker::cpu
