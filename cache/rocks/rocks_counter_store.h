// RocksCounterStore: counters in the cache's database.
#pragma once

#include <memory>
#include <mutex>

#include "cache/counter_store.h"

namespace stoker {

class Database;

class RocksCounterStore : public CounterStore {
 public:
  // Shared ownership: the stores of one folder share its database.
  static Result<std::unique_ptr<RocksCounterStore>> Open(std::shared_ptr<Database> database);

  Status Add(const Counters& deltas) override;
  Result<Counters> Load() override;
  // Writes all of them: the database is another one.
  Status Rewrite();

 private:
  RocksCounterStore(std::shared_ptr<Database> database, Counters counters)
      : database_(std::move(database)), counters_(std::move(counters)) {}

  const std::shared_ptr<Database> database_;
  std::mutex mutex_;  // Guards what follows; held over the write, so that writes keep their order.
  Counters counters_;
};

}  // namespace stoker
