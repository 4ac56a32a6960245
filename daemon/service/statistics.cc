#include "daemon/service/statistics.h"

#include <memory>
#include <utility>

namespace stoker {

Result<std::unique_ptr<Statistics>> Statistics::Open(CounterStore& store) {
  STOKER_TRY(Counters stored, store.Load());
  return std::unique_ptr<Statistics>(new Statistics(store, std::move(stored)));
}

void Statistics::Add(std::string_view name, double delta) {
  // A name beyond the store's limit would make every later flush fail.
  std::string bounded(name.substr(0, kMaxCounterNameBytes));
  const std::lock_guard lock(mutex_);
  if (totals_.size() >= kMaxStatistics && !totals_.contains(bounded)) bounded = kOverflowCounter;
  totals_[bounded] += delta;
  unwritten_[bounded] += delta;
}

Counters Statistics::Totals() const {
  const std::lock_guard lock(mutex_);
  return totals_;
}

double Statistics::Total(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto it = totals_.find(name);
  return it == totals_.end() ? 0 : it->second;
}

Status Statistics::Flush() {
  Counters deltas;
  {
    const std::lock_guard lock(mutex_);
    deltas.swap(unwritten_);
  }
  if (deltas.empty()) return Ok();
  Status written = store_.Add(deltas);
  if (!written.ok()) {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, delta] : deltas) unwritten_[name] += delta;
  }
  return written;
}

}  // namespace stoker
