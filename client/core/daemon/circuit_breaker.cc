#include "client/core/daemon/circuit_breaker.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace stoker {

struct CircuitBreaker::State {
  using Clock = std::chrono::steady_clock;

  State(std::function<bool()> p, const Pauses& limits) : probe(std::move(p)), pauses(limits) {}
  ~State() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
    }
    stop.notify_all();
    if (thread.joinable()) thread.join();
  }

  void Probe();

  const std::function<bool()> probe;
  const Pauses pauses;
  std::mutex mutex;  // Guards what follows.
  std::condition_variable stop;
  bool stopping = false;
  std::optional<Error> why;  // It is open.
  std::chrono::milliseconds pause{0};
  Clock::time_point closed_at;
  std::thread thread;
};

void CircuitBreaker::State::Probe() {
  std::unique_lock lock(mutex);
  while (!stop.wait_for(lock, pause, [this] { return stopping; })) {
    pause = std::min(2 * pause, pauses.last);
    lock.unlock();
    const bool answers = probe();
    lock.lock();
    if (!answers) continue;
    why.reset();
    closed_at = Clock::now();
    return;
  }
}

CircuitBreaker::CircuitBreaker(std::function<bool()> probe, const Pauses& pauses)
    : state_(std::make_unique<State>(std::move(probe), pauses)) {}

CircuitBreaker::~CircuitBreaker() {
  if (getpid() != owner_) (void)state_.release();  // Its end would wait for the thread for ever.
}

std::optional<Error> CircuitBreaker::Refusal() const {
  if (getpid() != owner_) return std::nullopt;
  const std::lock_guard lock(state_->mutex);
  return state_->why;
}

void CircuitBreaker::Open(const Error& why) {
  if (getpid() != owner_) return;
  const std::lock_guard lock(state_->mutex);
  if (state_->why) return;
  state_->why = why;
  if (State::Clock::now() - state_->closed_at > state_->pause) {
    state_->pause = state_->pauses.first;
  }
  if (state_->thread.joinable()) state_->thread.join();  // It has closed the circuit and ends.
  state_->thread = std::thread([state = state_.get()] { state->Probe(); });
}

}  // namespace stoker
