#include "client/core/circuit_breaker.h"

#include <algorithm>

namespace stoker {

CircuitBreaker::~CircuitBreaker() {
  if (getpid() != owner_) {
    if (thread_.joinable()) thread_.detach();
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stop_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::optional<Error> CircuitBreaker::Refusal() const {
  const std::lock_guard lock(mutex_);
  return why_;
}

void CircuitBreaker::Open(const Error& why) {
  if (getpid() != owner_) return;
  const std::lock_guard lock(mutex_);
  if (why_) return;
  why_ = why;
  if (Clock::now() - closed_at_ > pause_) pause_ = pauses_.first;
  if (thread_.joinable()) thread_.join();  // It has closed the circuit and ends.
  thread_ = std::thread([this] { Probe(); });
}

void CircuitBreaker::Probe() {
  std::unique_lock lock(mutex_);
  while (!stop_.wait_for(lock, pause_, [this] { return stopping_; })) {
    pause_ = std::min(2 * pause_, pauses_.last);
    lock.unlock();
    const bool answers = probe_();
    lock.lock();
    if (!answers) continue;
    why_.reset();
    closed_at_ = Clock::now();
    return;
  }
}

}  // namespace stoker
