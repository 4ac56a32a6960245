// CacheCounters: carries what the cache counts since its start over to the statistics, which
// survive it: "quarantined", "databases_set_aside", "incomplete", "evicted".
#pragma once

#include <mutex>

#include "cache/stack/stack.h"
#include "daemon/service/statistics/statistics.h"

namespace stoker {

class CacheCounters {
 public:
  // Both must outlive it.
  CacheCounters(CacheStack& stack, Statistics& statistics)
      : stack_(stack), statistics_(statistics) {}

  // Adds what was counted since the last time. Blocking; safe from any thread. The snapshot it
  // took.
  StackSnapshot Fold();

 private:
  CacheStack& stack_;
  Statistics& statistics_;
  std::mutex mutex_;  // Guards what follows, and keeps snapshots in order.
  double quarantined_ = 0;
  double set_aside_ = 0;
  double incomplete_ = 0;
  double evicted_ = 0;
};

}  // namespace stoker
