#include "runtime/cpu/memory/arena_pool.h"

#include <gtest/gtest.h>

#include <utility>

namespace stoker::cpu {
namespace {

TEST(ArenaPool_Take, ReturnedArenaFits_IsUsedAgain) {
  ArenaPool pool;
  Arena first = pool.Take(1000).value();
  std::byte* const data = first.memory.data();
  pool.Return(std::move(first));
  EXPECT_EQ(pool.Take(500).value().memory.data(), data);
}

TEST(ArenaPool_Take, SeveralFit_GivesTheSmallest) {
  ArenaPool pool;
  Arena small = pool.Take(100).value();
  Arena large = pool.Take(10000).value();
  std::byte* const data = small.memory.data();
  pool.Return(std::move(large));
  pool.Return(std::move(small));
  EXPECT_EQ(pool.Take(100).value().memory.data(), data);
}

TEST(ArenaPool_Take, NoneFits_ReplacesTheLargest) {
  ArenaPool pool;
  pool.Return(pool.Take(100).value());
  Arena grown = pool.Take(200).value();
  EXPECT_GE(grown.memory.size(), 200);
  pool.Return(std::move(grown));
  // The arena of 100 bytes is gone: a call that needs less gets the one that grew.
  EXPECT_EQ(pool.Take(50).value().memory.size(), 200);
}

TEST(ArenaPool_Take, TwoAtOnce_AreDistinct) {
  ArenaPool pool;
  const Arena a = pool.Take(100).value();
  const Arena b = pool.Take(100).value();
  EXPECT_NE(a.memory.data(), b.memory.data());
}

}  // namespace
}  // namespace stoker::cpu
