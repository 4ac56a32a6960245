// Statistics: what the service counts, kept across restarts.
//
// Counters are named by path: "hits.memory", "misses.reason.<reason>", "ns.<namespace>.hits". Names
// may hold what clients say (namespaces, ops, events), so there is a limit to them.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "cache/counter_store.h"
#include "protocol/base/result.h"

namespace stoker {

inline constexpr std::size_t kMaxStatistics = kMaxCounters / 2;
// What is added to further names is counted here.
inline constexpr std::string_view kOverflowCounter = "statistics.overflow";

class Statistics {
 public:
  // Starts from what `store` holds. The store must outlive this.
  static Result<std::unique_ptr<Statistics>> Open(CounterStore& store);

  void Add(std::string_view name, double delta = 1);
  // All counters with earlier runs included.
  Counters Totals() const;
  double Total(std::string_view name) const;
  // Writes down what was counted since the last time.
  Status Flush();

 private:
  Statistics(CounterStore& store, Counters stored) : store_(store), totals_(std::move(stored)) {}

  CounterStore& store_;
  mutable std::mutex mutex_;
  Counters totals_;
  Counters unwritten_;
};

}  // namespace stoker
