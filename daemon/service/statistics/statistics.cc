#include "daemon/service/statistics/statistics.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "protocol/wire/proto/utf8.h"

namespace stoker {

namespace {

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

// What may stand in a name, of what a client says.
std::string LabelOf(std::string_view said) {
  if (said.size() > kMaxStatisticLabelBytes) {
    std::size_t end = kMaxStatisticLabelBytes;
    while (end > 0 && (static_cast<unsigned char>(said[end]) & 0xC0) == 0x80) --end;
    said = said.substr(0, end);
  }
  std::string label = wire::ToValidUtf8(said);
  std::replace_if(label.begin(), label.end(), IsControl, '?');
  return label.empty() ? "none" : label;
}

}  // namespace

Result<std::unique_ptr<Statistics>> Statistics::Open(CounterStore& store) {
  STOKER_TRY(const Counters stored, store.Load());
  // Earlier versions stored what clients said as it was.
  Counters totals;
  for (const auto& [name, value] : stored) {
    if (std::isfinite(value)) totals[wire::ToValidUtf8(name)] += value;
  }
  return std::unique_ptr<Statistics>(new Statistics(store, std::move(totals)));
}

void Statistics::Add(std::string_view name, double delta) {
  // A name beyond the store's limit would make every later flush fail.
  const std::lock_guard lock(mutex_);
  AddLocked(std::string(name.substr(0, kMaxCounterNameBytes)), delta);
}

void Statistics::AddLabelled(std::string_view family, std::string_view label, std::string_view rest,
                             double delta) {
  std::string bounded = LabelOf(label);
  const std::lock_guard lock(mutex_);
  auto& labels = LabelsLocked(family, rest);
  if (!labels.contains(bounded)) {
    if (labels.size() < kMaxLabelsOfAFamily) {
      labels.insert(bounded);
    } else {
      bounded = kOtherLabel;
    }
  }
  AddLocked(std::string(family) + bounded + std::string(rest), delta);
}

void Statistics::AddLocked(std::string name, double delta) {
  if (totals_.size() >= kMaxStatistics && !totals_.contains(name)) name = kOverflowCounter;
  double& total = totals_[name];
  const double counted = std::min(delta, kMaxCount - total);
  total += counted;
  unwritten_[name] += counted;
}

std::set<std::string, std::less<>>& Statistics::LabelsLocked(std::string_view family,
                                                             std::string_view rest) {
  const std::string key = std::string(family) + '\0' + std::string(rest);
  const auto [it, is_new] = labels_.try_emplace(key);
  if (!is_new) return it->second;
  for (auto total = totals_.lower_bound(family); total != totals_.end(); ++total) {
    const std::string_view name = total->first;
    if (!name.starts_with(family)) break;
    if (name.size() < family.size() + rest.size() || !name.ends_with(rest)) continue;
    it->second.emplace(name.substr(family.size(), name.size() - family.size() - rest.size()));
  }
  return it->second;
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
