#include "cache/rocks/database/space_reclaimer.h"

#include <gtest/gtest.h>

#include <future>

namespace stoker {
namespace {

TEST(SpaceReclaimer, AddGarbage_BelowTheThreshold_DoesNothing) {
  int runs = 0;
  {
    SpaceReclaimer reclaimer(100, [&](std::atomic<bool>&) { return ++runs > 0; });
    reclaimer.AddGarbage(50);
    reclaimer.AddGarbage(49);
  }
  EXPECT_EQ(runs, 0);
}

TEST(SpaceReclaimer, AddGarbage_ReachesTheThreshold_Compacts) {
  std::promise<void> compacted;
  SpaceReclaimer reclaimer(100, [&](std::atomic<bool>&) {
    compacted.set_value();
    return true;
  });
  reclaimer.AddGarbage(50);
  reclaimer.AddGarbage(50);
  compacted.get_future().get();
}

TEST(SpaceReclaimer, Request_Compacts) {
  std::promise<void> compacted;
  SpaceReclaimer reclaimer(100, [&](std::atomic<bool>&) {
    compacted.set_value();
    return true;
  });
  reclaimer.Request();
  compacted.get_future().get();
}

TEST(SpaceReclaimer, OwedBytes_AreThoseThatNoCompactionGaveBack) {
  std::atomic<bool> succeeds = false;
  std::atomic<int> runs = 0;
  SpaceReclaimer reclaimer(100, [&](std::atomic<bool>&) {
    ++runs;
    return succeeds.load();
  });
  const auto compact = [&] {
    const int before = runs;
    reclaimer.Request();
    while (runs == before) std::this_thread::yield();
  };
  reclaimer.AddGarbage(30);
  compact();
  reclaimer.AddGarbage(12);
  EXPECT_EQ(reclaimer.owed_bytes(), 42u);
  succeeds = true;
  compact();
  while (reclaimer.owed_bytes() != 0) std::this_thread::yield();
}

TEST(SpaceReclaimer, Destruction_CancelsARunningCompaction) {
  std::promise<void> started;
  std::atomic<bool> canceled = false;
  {
    SpaceReclaimer reclaimer(100, [&](std::atomic<bool>& cancel) {
      started.set_value();
      while (!cancel) std::this_thread::yield();
      canceled = true;
      return false;
    });
    reclaimer.Request();
    started.get_future().get();
  }
  EXPECT_TRUE(canceled);
}

}  // namespace
}  // namespace stoker
