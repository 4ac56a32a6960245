// CircuitBreaker: a job waits for a daemon that does not answer once. From then on calls fail at
// once, and a thread in the background tries whether the daemon answers again; then they go
// through.
#pragma once

#include <unistd.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "protocol/base/result.h"

namespace stoker {

class CircuitBreaker {
 public:
  struct Pauses {
    std::chrono::milliseconds first{1000};  // Doubles from probe to probe,
    std::chrono::milliseconds last{60000};  // up to this.
  };

  // `probe`: whether the daemon answers. Called from the background; the destructor waits for it.
  CircuitBreaker(std::function<bool()> probe, const Pauses& pauses);
  ~CircuitBreaker();
  CircuitBreaker(const CircuitBreaker&) = delete;
  CircuitBreaker& operator=(const CircuitBreaker&) = delete;

  // Why nothing goes through; nothing where it does.
  std::optional<Error> Refusal() const;
  // Somebody has waited for nothing. Where it was closed only for less than the last pause, the
  // next one is as long.
  void Open(const Error& why);

 private:
  struct State;

  // A forked child has no thread that would ever close it, and may have come while a thread held
  // what is in here: it leaves that alone, and everything goes through.
  const pid_t owner_ = getpid();
  std::unique_ptr<State> state_;
};

}  // namespace stoker
