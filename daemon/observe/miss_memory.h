// MissMemory: the latest lookups of each job that found nothing, and why. Safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/observe/visible.h"
#include "protocol/base/digest.h"

namespace stoker {

// The stored request that differs least from one that was asked for.
struct NearestRequest {
  Digest key;
  std::string field;   // The first that differs.
  std::string theirs;  // What the stored one has there; empty: it has no such field.
  std::string ours;
};

struct Miss {
  std::string name_space;
  std::string job;  // Empty: the client gave no name.
  Digest key;
  std::string reason;  // As it is counted.
  std::string text;    // For people.
  std::optional<NearestRequest> nearest;
  double unix_s = 0;        // The latest time.
  std::uint64_t times = 1;  // That the job missed this key, of late.
};

class MissMemory {
 public:
  static constexpr std::size_t kMaxJobs = 256;  // Those that missed something last.
  static constexpr std::size_t kMaxMissesOfAJob = 32;
  static constexpr std::size_t kMaxTextBytes = 512;  // Longer ones are cut.

  void Remember(Miss miss);

  // These: newest first.
  std::vector<Miss> OfJob(std::string_view job, const Visible& visible) const;
  // Of keys that start so in hexadecimal.
  std::vector<Miss> OfKey(std::string_view prefix, const Visible& visible) const;
  // Names of jobs, those that missed something last first.
  std::vector<std::string> Jobs(const Visible& visible) const;

 private:
  struct Job {
    std::deque<Miss> misses;  // Newest first.
    std::uint64_t used = 0;
  };

  template <typename Fits>
  std::vector<Miss> Select(const Visible& visible, const Fits& fits) const;

  mutable std::mutex mutex_;                                 // Guards what follows.
  std::map<std::pair<std::string, std::string>, Job> jobs_;  // By namespace and name.
  std::uint64_t uses_ = 0;
};

}  // namespace stoker
