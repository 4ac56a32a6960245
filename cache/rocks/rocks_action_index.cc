#include "cache/rocks/rocks_action_index.h"

#include "cache/rocks/database/database.h"
#include "cache/rocks/database/status.h"
#include "cache/rocks/rocks_records.h"

namespace stoker {
namespace {

// No namespace holds a zero byte, so prefixes of different namespaces never overlap.
std::string Prefix(std::string_view name_space) {
  std::string prefix(name_space);
  prefix.push_back('\0');
  return prefix;
}

std::string StoredKey(std::string_view name_space, const Digest& key) {
  return Prefix(name_space).append(key.AsBytes());
}

std::string Describe(std::string_view name_space, const Digest& key) {
  return "Entry " + key.ToHex() + " of namespace '" + std::string(name_space) + "'";
}

}  // namespace

Result<ActionEntry> RocksActionIndex::Lookup(std::string_view name_space, const Digest& key) {
  STOKER_RETURN_IF_ERROR(CheckNamespace(name_space));
  const std::string stored_key = StoredKey(name_space, key);
  std::string value;
  const rocksdb::Status status = database_->Get(Family::kActions, stored_key, &value);
  Result<ActionEntry> entry = NotFound(Describe(name_space, key) + " does not exist.");
  if (status.IsNotFound()) return entry;
  if (!status.ok() && !IsDamage(status)) return FromRocks(status, Describe(name_space, key));
  entry = status.ok() ? DecodeAction(value)
                      : Result<ActionEntry>(FromRocks(status, Describe(name_space, key)));
  if (entry.ok()) return entry;
  database_->Log(Describe(name_space, key) + " is removed: " + entry.error().message);
  (void)Erase(stored_key);  // On a disk that takes no writes it stays, and is found again.
  return entry;
}

Status RocksActionIndex::Publish(std::string_view name_space, const Digest& key,
                                 const ActionEntry& entry, Durability durability) {
  STOKER_RETURN_IF_ERROR(CheckNamespace(name_space));
  STOKER_RETURN_IF_ERROR(CheckActionEntry(entry));
  const std::string value = EncodeAction(entry);
  STOKER_RETURN_IF_ERROR(database_->CheckFreeDisk(value.size()));
  WriteOps ops;
  ops.Put(Family::kActions, StoredKey(name_space, key), value);
  return database_->Write(ops, durability == Durability::kSynced);
}

Status RocksActionIndex::Remove(std::string_view name_space, const Digest& key) {
  STOKER_RETURN_IF_ERROR(CheckNamespace(name_space));
  const std::string stored_key = StoredKey(name_space, key);
  std::string value;
  if (database_->Get(Family::kActions, stored_key, &value).IsNotFound()) {
    return NotFound(Describe(name_space, key) + " does not exist.");
  }
  return Erase(stored_key);
}

Status RocksActionIndex::Visit(std::string_view name_space, const Visitor& visit) {
  if (!name_space.empty()) STOKER_RETURN_IF_ERROR(CheckNamespace(name_space));
  const std::string prefix = name_space.empty() ? "" : Prefix(name_space);
  return database_->Scan(
      Family::kActions, prefix, [&](std::string_view stored_key, std::string_view value) {
        const std::size_t separator = stored_key.find('\0');
        if (separator == std::string_view::npos) return true;
        const Result<Digest> key = Digest::FromBytes(stored_key.substr(separator + 1));
        const Result<ActionEntry> entry = DecodeAction(value);
        // A damaged entry is a miss for its Lookup, which removes it; here it is not there.
        if (!key.ok() || !entry.ok()) return true;
        return visit(stored_key.substr(0, separator), *key, *entry);
      });
}

Status RocksActionIndex::Erase(const std::string& stored_key) {
  WriteOps ops;
  ops.Delete(Family::kActions, stored_key);
  return database_->Write(ops, /*sync=*/false);
}

}  // namespace stoker
