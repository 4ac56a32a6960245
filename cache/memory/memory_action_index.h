// MemoryActionIndex: an index that ends with the process.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "cache/action_index.h"

namespace stoker {

class MemoryActionIndex : public ActionIndex {
 public:
  Result<ActionEntry> Lookup(std::string_view name_space, const Digest& key) override;
  Status Publish(std::string_view name_space, const Digest& key, const ActionEntry& entry,
                 Durability durability) override;
  Status Remove(std::string_view name_space, const Digest& key) override;
  Status Visit(std::string_view name_space, const Visitor& visit) override;

 private:
  std::mutex mutex_;  // Guards what follows.
  std::map<std::pair<std::string, Digest>, ActionEntry> entries_;
};

}  // namespace stoker
