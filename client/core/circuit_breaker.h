// CircuitBreaker: a job waits for a daemon that does not answer once. From then on calls fail at
// once, and a thread in the background tries whether the daemon answers again; then they go
// through.
#pragma once

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "protocol/base/result.h"

namespace stoker {

class CircuitBreaker {
 public:
  struct Pauses {
    std::chrono::milliseconds first{1000};  // Doubles from probe to probe,
    std::chrono::milliseconds last{60000};  // up to this.
  };

  // `probe`: whether the daemon answers. Called from the background; the destructor waits for it.
  CircuitBreaker(std::function<bool()> probe, const Pauses& pauses)
      : probe_(std::move(probe)), pauses_(pauses) {}
  ~CircuitBreaker();
  CircuitBreaker(const CircuitBreaker&) = delete;
  CircuitBreaker& operator=(const CircuitBreaker&) = delete;

  // Why nothing goes through; nothing where it does.
  std::optional<Error> Refusal() const;
  // Somebody has waited for nothing. Where it was closed only for less than the last pause, the
  // next one is as long.
  void Open(const Error& why);

 private:
  using Clock = std::chrono::steady_clock;

  void Probe();
  const std::function<bool()> probe_;
  const Pauses pauses_;
  // Threads do not come along into a forked child: there it stays as it was.
  const pid_t owner_ = getpid();
  mutable std::mutex mutex_;  // Guards what follows.
  std::condition_variable stop_;
  bool stopping_ = false;
  std::optional<Error> why_;  // It is open.
  std::chrono::milliseconds pause_{0};
  Clock::time_point closed_at_;
  std::thread thread_;
};

}  // namespace stoker
