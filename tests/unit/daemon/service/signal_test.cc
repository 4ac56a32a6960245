#include "daemon/service/waiting/signal.h"

#include <gtest/gtest.h>

#include "tests/unit/daemon/service/coroutines.h"

namespace stoker {
namespace {

using namespace std::chrono_literals;

TEST(Signal, WaitBeyond_AlreadyNotified_ReturnsAtOnce) {
  Coroutines coroutines;
  Signal signal;
  const std::uint64_t seen = signal.version();
  signal.Notify();
  coroutines.Run([](Signal& s, std::uint64_t v) -> boost::asio::awaitable<bool> {
    co_await s.WaitBeyond(v, 1h);
    co_return true;
  }(signal, seen));
}

TEST(Signal, WaitBeyond_Timeout_Returns) {
  Coroutines coroutines;
  Signal signal;
  coroutines.Run([](Signal& s) -> boost::asio::awaitable<bool> {
    co_await s.WaitBeyond(s.version(), 1ms);
    co_return true;
  }(signal));
  EXPECT_EQ(signal.version(), 0U);
}

// Two sides take turns many times: a lost wake-up would hang for an hour.
TEST(Signal, Notify_FromAnotherThread_NeverGetsLost) {
  constexpr int kTurns = 2000;
  Coroutines coroutines;
  Signal signal;
  std::atomic<int> turn{0};
  const auto play = [&](int parity) -> boost::asio::awaitable<bool> {
    while (true) {
      const std::uint64_t seen = signal.version();
      const int now = turn;
      if (now >= kTurns) co_return true;
      if (now % 2 == parity) {
        turn = now + 1;
        signal.Notify();
      } else {
        co_await signal.WaitBeyond(seen, 1h);
      }
    }
  };
  auto even = coroutines.Start(play(0));
  auto odd = coroutines.Start(play(1));
  EXPECT_TRUE(even.get());
  EXPECT_TRUE(odd.get());
}

}  // namespace
}  // namespace stoker
