#include "cache/memory/memory_counter_store.h"

namespace stoker {

Status MemoryCounterStore::Add(const Counters& deltas) {
  const std::lock_guard lock(mutex_);
  STOKER_RETURN_IF_ERROR(CheckCounterLimits(counters_, deltas));
  for (const auto& [name, delta] : deltas) counters_[name] += delta;
  return Ok();
}

Result<Counters> MemoryCounterStore::Load() {
  const std::lock_guard lock(mutex_);
  return counters_;
}

}  // namespace stoker
