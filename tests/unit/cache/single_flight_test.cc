#include "cache/policy/single_flight.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/wait_until.h"

namespace stoker {
namespace {

using Flights = SingleFlight<int, std::string, std::hash<int>>;

TEST(SingleFlight, ConcurrentCalls_ShareOneRun) {
  constexpr int kThreads = 8;
  Flights flights;
  std::atomic<int> runs = 0;
  std::vector<std::string> results(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      results[static_cast<std::size_t>(t)] = flights.Do(1, [&] {
        ++runs;
        WaitUntil("all others share it", [&] { return flights.shared_count() == kThreads - 1; });
        return std::string("result");
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(runs, 1);
  for (const std::string& result : results) EXPECT_EQ(result, "result");
}

TEST(SingleFlight, OtherKeys_DoNotWait) {
  Flights flights;
  const std::string outer =
      flights.Do(1, [&] { return "outer " + flights.Do(2, [] { return std::string("inner"); }); });
  EXPECT_EQ(outer, "outer inner");
}

TEST(SingleFlight, NextCall_RunsAgain) {
  Flights flights;
  int runs = 0;
  for (int i = 0; i < 3; ++i) flights.Do(1, [&] { return std::to_string(++runs); });
  EXPECT_EQ(runs, 3);
}

}  // namespace
}  // namespace stoker
