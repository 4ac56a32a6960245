// Activity: who has kept the daemon busy in the last minutes, by name: of jobs, or of models. Safe
// from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/observe/visible.h"

namespace stoker {

struct ActivityCounts {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t compiles = 0;
  double compile_seconds = 0;

  std::uint64_t requests() const { return hits + misses; }
  ActivityCounts& operator+=(const ActivityCounts& more);
};

class Activity {
 public:
  static constexpr std::int64_t kMinutes = 15;
  static constexpr std::size_t kMaxNames = 512;      // Those that were busy last.
  static constexpr std::size_t kMaxNameBytes = 128;  // Longer ones are cut.

  using NowS = std::function<std::int64_t()>;  // Seconds, of any clock that is not set back.
  Activity();
  explicit Activity(NowS now_s) : now_s_(std::move(now_s)) {}

  // Nothing is counted without a name.
  void Add(const std::string& name_space, std::string_view name, const ActivityCounts& counts);

  struct Row {
    std::string name_space;
    std::string name;
    ActivityCounts counts;  // In the last kMinutes.
  };
  // Most requests first, then the most time of compiles.
  std::vector<Row> Busiest(const Visible& visible, std::size_t limit) const;

 private:
  struct Minute {
    std::int64_t minute = 0;
    ActivityCounts counts;
  };
  using Minutes = std::deque<Minute>;  // The latest last; none is empty, nor older than kMinutes.

  static void Forget(Minutes& minutes, std::int64_t now);

  const NowS now_s_;
  mutable std::mutex mutex_;  // Guards what follows.
  std::map<std::pair<std::string, std::string>, Minutes> names_;
};

}  // namespace stoker
