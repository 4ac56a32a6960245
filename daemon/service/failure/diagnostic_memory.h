// DiagnosticMemory: what compiles found wrong with their requests, for a few minutes: who asks
// again is told the same, and no worker is troubled. Safe from any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "protocol/base/digest.h"
#include "protocol/base/result.h"

namespace stoker {

class DiagnosticMemory {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr std::chrono::minutes kLifetime{5};
  // The oldest make room.
  static constexpr std::size_t kMaxDiagnostics = 1024;

  explicit DiagnosticMemory(std::function<Clock::time_point()> now = Clock::now)
      : now_(std::move(now)) {}

  void Remember(const std::string& name_space, const Digest& request_key, Error error);
  std::optional<Error> Find(const std::string& name_space, const Digest& request_key);

 private:
  using Key = std::pair<std::string, Digest>;
  struct Diagnostic {
    Key key;
    Error error;
    Clock::time_point end;
  };

  const std::function<Clock::time_point()> now_;
  std::mutex mutex_;              // Guards what follows.
  std::list<Diagnostic> by_age_;  // Oldest first.
  std::map<Key, std::list<Diagnostic>::iterator> by_key_;
};

}  // namespace stoker
