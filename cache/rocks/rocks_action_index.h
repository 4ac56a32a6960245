// RocksActionIndex: the durable index. Publishing syncs the log, and with it every blob put before.
#pragma once

#include <memory>

#include "cache/action_index.h"

namespace stoker {

class Database;

class RocksActionIndex : public ActionIndex {
 public:
  // Shared ownership: the stores of one folder share its database.
  explicit RocksActionIndex(std::shared_ptr<Database> database) : database_(std::move(database)) {}

  Result<ActionEntry> Lookup(std::string_view name_space, const Digest& key) override;
  Status Publish(std::string_view name_space, const Digest& key, const ActionEntry& entry,
                 Durability durability) override;
  Status Remove(std::string_view name_space, const Digest& key) override;
  Status Visit(std::string_view name_space, const Visitor& visit) override;

 private:
  Status Erase(const std::string& stored_key);

  const std::shared_ptr<Database> database_;
};

}  // namespace stoker
