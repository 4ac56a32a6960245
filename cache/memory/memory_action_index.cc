#include "cache/memory/memory_action_index.h"

namespace stoker {
namespace {

Error NoEntry(std::string_view name_space, const Digest& key) {
  return NotFound("Namespace '" + std::string(name_space) + "' has no entry for " + key.ToHex() +
                  ".");
}

}  // namespace

Result<ActionEntry> MemoryActionIndex::Lookup(std::string_view name_space, const Digest& key) {
  STOKER_RETURN_IF_ERROR(CheckNamespace(name_space));
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find({std::string(name_space), key});
  if (found == entries_.end()) return NoEntry(name_space, key);
  return found->second;
}

Status MemoryActionIndex::Publish(std::string_view name_space, const Digest& key,
                                  const ActionEntry& entry, Durability /*durability*/) {
  STOKER_RETURN_IF_ERROR(CheckNamespace(name_space));
  STOKER_RETURN_IF_ERROR(CheckActionEntry(entry));
  const std::lock_guard lock(mutex_);
  entries_.insert_or_assign({std::string(name_space), key}, entry);
  return Ok();
}

Status MemoryActionIndex::Remove(std::string_view name_space, const Digest& key) {
  STOKER_RETURN_IF_ERROR(CheckNamespace(name_space));
  const std::lock_guard lock(mutex_);
  if (entries_.erase({std::string(name_space), key}) == 0) return NoEntry(name_space, key);
  return Ok();
}

Status MemoryActionIndex::Visit(std::string_view name_space, const Visitor& visit) {
  if (!name_space.empty()) STOKER_RETURN_IF_ERROR(CheckNamespace(name_space));
  // A copy, so that the visitor may call the index.
  std::map<std::pair<std::string, Digest>, ActionEntry> entries;
  {
    const std::lock_guard lock(mutex_);
    entries = entries_;
  }
  for (const auto& [name, entry] : entries) {
    if (!name_space.empty() && name.first != name_space) continue;
    if (!visit(name.first, name.second, entry)) break;
  }
  return Ok();
}

}  // namespace stoker
