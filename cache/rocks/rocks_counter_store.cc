#include "cache/rocks/rocks_counter_store.h"

#include "cache/rocks/database/database.h"
#include "protocol/base/bytes.h"

namespace stoker {

Result<std::unique_ptr<RocksCounterStore>> RocksCounterStore::Open(
    std::shared_ptr<Database> database) {
  Counters counters;
  STOKER_RETURN_IF_ERROR(
      database->Scan(Family::kCounters, "", [&](std::string_view name, std::string_view bytes) {
        ByteReader reader(bytes);
        // A counter that does not decode starts again at zero.
        const Result<double> value = reader.F64("counter");
        if (value.ok() && reader.AtEnd()) counters.emplace(name, *value);
        return true;
      }));
  return std::unique_ptr<RocksCounterStore>(
      new RocksCounterStore(std::move(database), std::move(counters)));
}

namespace {

void AppendCounter(WriteOps& ops, std::string_view name, double value) {
  ByteWriter writer;
  writer.F64(value);
  ops.Put(Family::kCounters, name, std::move(writer).Take());
}

}  // namespace

Status RocksCounterStore::Add(const Counters& deltas) {
  const std::lock_guard lock(mutex_);
  STOKER_RETURN_IF_ERROR(CheckCounterLimits(counters_, deltas));
  Counters sums;
  WriteOps ops;
  for (const auto& [name, delta] : deltas) {
    const auto found = counters_.find(name);
    const double sum = (found == counters_.end() ? 0 : found->second) + delta;
    AppendCounter(ops, name, sum);
    sums.emplace(name, sum);
  }
  if (sums.empty()) return Ok();
  STOKER_RETURN_IF_ERROR(database_->Write(ops, /*sync=*/false));
  for (const auto& [name, sum] : sums) counters_[name] = sum;
  return Ok();
}

Status RocksCounterStore::Rewrite() {
  const std::lock_guard lock(mutex_);
  WriteOps ops;
  for (const auto& [name, value] : counters_) AppendCounter(ops, name, value);
  return ops.empty() ? Ok() : database_->Write(ops, /*sync=*/false);
}

Result<Counters> RocksCounterStore::Load() {
  const std::lock_guard lock(mutex_);
  return counters_;
}

}  // namespace stoker
