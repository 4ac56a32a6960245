// ActiveCompiles: what runs on the compile workers and what waits for them. Safe from any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "daemon/observe/visible.h"
#include "protocol/base/digest.h"
#include "protocol/wire/messages.h"

namespace stoker {

struct ActiveCompile {
  std::string name_space;
  Digest key;
  std::string model;  // The graph's name.
  std::string job;
  std::string request_id;
  // What follows changes while it goes on.
  std::string stage = "queued";
  std::uint32_t done = 0;  // Of the stage.
  std::uint32_t total = 0;
  double waited_s = 0;                   // For its place.
  std::optional<double> running_s = {};  // Since it has one.
};

class ActiveCompiles {
 public:
  using Clock = std::chrono::steady_clock;
  using Now = std::function<Clock::time_point()>;
  using Id = std::uint64_t;

  explicit ActiveCompiles(Now now = Clock::now) : now_(std::move(now)) {}

  Id Add(ActiveCompile compile);
  void GivePlace(Id id);
  void Report(Id id, const wire::Progress& progress);
  void Remove(Id id);

  struct Snapshot {
    std::vector<ActiveCompile> compiles;  // Those that run first; each kind by age.
    double oldest_waiting_s = 0;          // Of all; 0: none waits.
  };
  // At most so many compiles, of the namespaces that are visible.
  Snapshot Take(const Visible& visible, std::size_t limit) const;

 private:
  struct Entry {
    ActiveCompile compile;
    Clock::time_point entered;
    std::optional<Clock::time_point> placed;
  };

  const Now now_;
  mutable std::mutex mutex_;     // Guards what follows.
  std::map<Id, Entry> entries_;  // By age.
  Id next_ = 0;
};

}  // namespace stoker
