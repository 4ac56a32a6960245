// MemoryCounterStore: counters that end with the process.
#pragma once

#include <mutex>

#include "cache/counter_store.h"

namespace stoker {

class MemoryCounterStore : public CounterStore {
 public:
  Status Add(const Counters& deltas) override;
  Result<Counters> Load() override;

 private:
  std::mutex mutex_;  // Guards what follows.
  Counters counters_;
};

}  // namespace stoker
