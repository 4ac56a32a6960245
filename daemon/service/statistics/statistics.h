// Statistics: what the service counts, kept across restarts.
//
// Counters are named by path: "hits.memory", "misses.reason.<reason>", "ns.<namespace>.hits". Part
// of a name may be what a client says (a namespace, an operator, an event): a label. Labels are
// bounded in length and in number, and are valid UTF-8 without control characters.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "cache/counter_store.h"
#include "protocol/base/result.h"

namespace stoker {

inline constexpr std::size_t kMaxStatistics = kMaxCounters / 2;
// What is added to further names is counted here.
inline constexpr std::string_view kOverflowCounter = "statistics.overflow";
// Longer labels are cut between characters.
inline constexpr std::size_t kMaxStatisticLabelBytes = 128;
// Further ones of a family are counted under kOtherLabel.
inline constexpr std::size_t kMaxLabelsOfAFamily = 512;
inline constexpr std::string_view kOtherLabel = "other";
// Beyond which nothing is counted: what is below is exact, and never infinite.
inline constexpr double kMaxCount = 1e15;

class Statistics {
 public:
  // Starts from what `store` holds. The store must outlive this.
  static Result<std::unique_ptr<Statistics>> Open(CounterStore& store);

  // A name without anything that clients say.
  void Add(std::string_view name, double delta = 1);
  // The counter `family` + `label` + `rest`.
  void AddLabelled(std::string_view family, std::string_view label, std::string_view rest = "",
                   double delta = 1);
  // All counters with earlier runs included.
  Counters Totals() const;
  double Total(std::string_view name) const;
  // Writes down what was counted since the last time.
  Status Flush();

 private:
  Statistics(CounterStore& store, Counters stored) : store_(store), totals_(std::move(stored)) {}

  void AddLocked(std::string name, double delta);
  std::set<std::string, std::less<>>& LabelsLocked(std::string_view family, std::string_view rest);

  CounterStore& store_;
  mutable std::mutex mutex_;  // Guards what follows.
  Counters totals_;
  Counters unwritten_;
  // The labels in use, by family and rest; read off the totals when one is first asked for.
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> labels_;
};

}  // namespace stoker
