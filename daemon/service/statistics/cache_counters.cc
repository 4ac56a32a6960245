#include "daemon/service/statistics/cache_counters.h"

#include <utility>

namespace stoker {

StackSnapshot CacheCounters::Fold() {
  const std::lock_guard lock(mutex_);
  StackSnapshot snapshot = stack_.Snapshot();
  const auto carry = [&](const char* name, double now, double& before) {
    const double delta = now - std::exchange(before, now);
    if (delta > 0) statistics_.Add(name, delta);
  };
  carry("quarantined", static_cast<double>(snapshot.quarantined_count), quarantined_);
  carry("databases_set_aside", snapshot.database_was_moved_aside ? 1 : 0, set_aside_);
  carry("incomplete", static_cast<double>(snapshot.incomplete_count), incomplete_);
  // Blobs that left the last local tier; those that left memory alone are still there.
  const TierSnapshot& last = LastLocalTier(snapshot);
  if (last.usage) carry("evicted", static_cast<double>(last.usage->evicted_count), evicted_);
  return snapshot;
}

}  // namespace stoker
