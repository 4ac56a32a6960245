#include "client/core/daemon/circuit_breaker.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <atomic>
#include <memory>

#include "tests/unit/wait_until.h"

namespace stoker {
namespace {

using namespace std::chrono_literals;

constexpr CircuitBreaker::Pauses kShort{.first = 1ms, .last = 4ms};
constexpr CircuitBreaker::Pauses kNever{.first = 1h, .last = 1h};

TEST(CircuitBreaker, Closed_LetsEverythingThrough) {
  std::atomic<int> probes{0};
  CircuitBreaker circuit([&] { return ++probes > 0; }, kShort);
  EXPECT_FALSE(circuit.Refusal());
  EXPECT_EQ(probes, 0);
}

TEST(CircuitBreaker, Open_RefusesWithTheReason_UntilAProbeIsAnswered) {
  std::atomic<int> probes{0};
  std::atomic<bool> answers{false};
  CircuitBreaker circuit(
      [&] {
        ++probes;
        return answers.load();
      },
      kShort);
  for (int round = 1; round <= 2; ++round) {
    answers = false;
    const int before = probes;
    circuit.Open(DeadlineExceeded("It is slow."));
    circuit.Open(Unavailable("The first reason stays."));
    WaitUntil("it was probed several times", [&] { return probes > before + 3; });
    ASSERT_TRUE(circuit.Refusal());
    EXPECT_EQ(circuit.Refusal()->message, "It is slow.");
    answers = true;
    WaitUntil("it is closed", [&] { return !circuit.Refusal(); });
  }
}

TEST(CircuitBreaker, Destructor_WaitsForNoPause) {
  CircuitBreaker circuit([] { return true; }, kNever);
  circuit.Open(DeadlineExceeded("It is slow."));
  EXPECT_TRUE(circuit.Refusal());
}

TEST(CircuitBreaker, ForkedChild_LetsEverythingThrough_AndEnds) {
  std::atomic<int> probes{0};
  auto circuit = std::make_unique<CircuitBreaker>(
      [&] {
        ++probes;
        return false;
      },
      CircuitBreaker::Pauses{.first = 20ms, .last = 20ms});
  circuit->Open(DeadlineExceeded("It is slow."));
  // Then the thread waits, which the child does not have.
  WaitUntil("it was probed", [&] { return probes > 0; });
  const pid_t child = fork();
  if (child == 0) {
    const bool refuses = circuit->Refusal().has_value();
    circuit->Open(Unavailable("It is gone."));
    circuit.reset();
    _exit(refuses ? 1 : 0);
  }
  int status = -1;
  WaitUntil("the child ends", [&] { return waitpid(child, &status, WNOHANG) == child; });
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(circuit->Refusal());
}

}  // namespace
}  // namespace stoker
