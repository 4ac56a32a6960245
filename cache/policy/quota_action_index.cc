#include "cache/policy/quota_action_index.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

namespace stoker {
namespace {

// Eviction starts at the quota itself: a quota is a promise of room, not of slack.
Watermarks WatermarksOf(std::uint64_t quota) {
  if (quota == 0) quota = std::numeric_limits<std::uint64_t>::max();
  return {.low = quota - quota / 10, .high = quota, .hard = quota};
}

}  // namespace

QuotaActionIndex::Namespace::Namespace(std::uint64_t quota_bytes)
    : quota(quota_bytes), ledger(WatermarksOf(quota_bytes)) {}

Status QuotaActionIndex::Load(const std::atomic<bool>& stop) {
  // Entries without their texts, by namespace.
  std::map<std::string, std::vector<BlobEntry>, std::less<>> found;
  STOKER_RETURN_IF_ERROR(inner_->Visit(
      "", [&](std::string_view name_space, const Digest& key, const ActionEntry& entry) {
        auto entries = found.find(name_space);
        if (entries == found.end()) entries = found.try_emplace(std::string(name_space)).first;
        entries->second.push_back({.digest = key,
                                   .kind = entry.kind,
                                   .bytes = entry.bytes,
                                   .accessed_unix_ns = entry.published_unix_ns});
        return !stop;
      }));
  if (stop) return Unavailable("Reading of the index was stopped.");
  for (auto& [name_space, entries] : found) {
    std::sort(entries.begin(), entries.end(), [](const BlobEntry& a, const BlobEntry& b) {
      return a.accessed_unix_ns < b.accessed_unix_ns;
    });
    STOKER_TRY(Namespace* const into, FindOrAdd(name_space));
    LruLedger stored(WatermarksOf(into->quota));
    for (const BlobEntry& entry : entries) stored.Add(entry);
    const std::lock_guard lock(mutex_);
    into->ledger.EndLoad(std::move(stored));
  }
  EndLoads();
  return Ok();
}

// Of the namespaces of which nothing is stored.
void QuotaActionIndex::EndLoads() {
  const std::lock_guard lock(mutex_);
  loading_ = false;
  for (auto& [name, entries] : namespaces_) {
    if (entries.ledger.loading()) entries.ledger.EndLoad(LruLedger(WatermarksOf(entries.quota)));
  }
}

void QuotaActionIndex::Clear() {
  {
    const std::lock_guard lock(mutex_);
    for (auto& [name, entries] : namespaces_) {
      for (const BlobEntry& entry : entries.ledger.Entries()) entries.ledger.Remove(entry.digest);
    }
  }
  EndLoads();
}

Status QuotaActionIndex::Pin(std::string_view name_space, const Digest& key) {
  STOKER_RETURN_IF_ERROR(CheckNamespace(name_space));
  STOKER_TRY(Namespace* const entries, FindOrAdd(name_space));
  const std::lock_guard lock(mutex_);
  if (!entries->ledger.IsPinned(key)) entries->ledger.Pin(key);
  return Ok();
}

void QuotaActionIndex::Unpin(std::string_view name_space, const Digest& key) {
  const std::lock_guard lock(mutex_);
  const auto entries = namespaces_.find(name_space);
  if (entries == namespaces_.end() || !entries->second.ledger.IsPinned(key)) return;
  entries->second.ledger.Unpin(key);
}

Result<ActionEntry> QuotaActionIndex::Lookup(std::string_view name_space, const Digest& key) {
  Result<ActionEntry> entry = inner_->Lookup(name_space, key);
  const std::lock_guard lock(mutex_);
  const auto entries = namespaces_.find(name_space);
  if (entries == namespaces_.end()) return entry;
  if (entry.ok()) {
    entries->second.ledger.Touch(key, clock_());
  } else if (entry.error().code == ErrorCode::kDataLoss) {
    entries->second.ledger.Remove(key);
  }
  return entry;
}

Status QuotaActionIndex::Publish(std::string_view name_space, const Digest& key,
                                 const ActionEntry& entry, Durability durability) {
  STOKER_RETURN_IF_ERROR(CheckNamespace(name_space));
  STOKER_TRY(Namespace* const entries, FindOrAdd(name_space));
  std::unique_lock publishing(entries->publish_mutex, std::defer_lock);
  if (entries->quota > 0) {
    publishing.lock();
    STOKER_RETURN_IF_ERROR(MakeRoom(*entries, name_space, key, entry));
  }
  STOKER_RETURN_IF_ERROR(inner_->Publish(name_space, key, entry, durability));
  Account(*entries, key, entry, clock_());
  return Ok();
}

Status QuotaActionIndex::Remove(std::string_view name_space, const Digest& key) {
  STOKER_RETURN_IF_ERROR(inner_->Remove(name_space, key));
  const std::lock_guard lock(mutex_);
  const auto entries = namespaces_.find(name_space);
  if (entries != namespaces_.end()) entries->second.ledger.Remove(key);
  return Ok();
}

Status QuotaActionIndex::Visit(std::string_view name_space, const Visitor& visit) {
  return inner_->Visit(name_space, visit);
}

std::map<std::string, LedgerUsage> QuotaActionIndex::usage() const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, LedgerUsage> usage;
  for (const auto& [name, entries] : namespaces_) {
    LedgerUsage& one = usage[name] = entries.ledger.usage();
    one.limit_bytes = entries.quota;
  }
  return usage;
}

Result<QuotaActionIndex::Namespace*> QuotaActionIndex::FindOrAdd(std::string_view name_space) {
  const std::lock_guard lock(mutex_);
  const auto found = namespaces_.find(name_space);
  if (found != namespaces_.end()) return &found->second;
  if (namespaces_.size() >= kMaxNamespaces) {
    return ResourceExhausted("Namespace '" + std::string(name_space) + "' would be number " +
                             std::to_string(namespaces_.size() + 1) + "; the limit is " +
                             std::to_string(kMaxNamespaces) + ".");
  }
  const auto quota = quotas_.bytes.find(name_space);
  const std::uint64_t bytes = quota == quotas_.bytes.end() ? quotas_.default_bytes : quota->second;
  const auto added = namespaces_.emplace(
      std::piecewise_construct, std::forward_as_tuple(name_space), std::forward_as_tuple(bytes));
  if (loading_) {
    LruLedger& ledger = added.first->second.ledger;
    ledger.BeginLoad(bytes == 0 ? std::numeric_limits<std::uint64_t>::max() : bytes / 10);
  }
  return &added.first->second;  // Nodes of a map stay where they are.
}

void QuotaActionIndex::Account(Namespace& entries, const Digest& key, const ActionEntry& entry,
                               std::int64_t now) {
  const std::lock_guard lock(mutex_);
  entries.ledger.Remove(key);
  entries.ledger.Add({.digest = key,
                      .kind = entry.kind,
                      .bytes = entry.bytes,
                      .accessed_unix_ns = entries.ledger.NextAccess(now)});
}

Status QuotaActionIndex::MakeRoom(Namespace& entries, std::string_view name_space,
                                  const Digest& key, const ActionEntry& entry) {
  std::vector<BlobEntry> leaving;
  {
    const std::lock_guard lock(mutex_);
    // The entry that is replaced needs no room, and must not be chosen to leave.
    std::optional<BlobEntry> replaced;
    if (!entries.ledger.loading()) replaced = entries.ledger.Remove(key);
    Result<std::vector<BlobEntry>> room = entries.ledger.MakeRoom(entry.bytes);
    if (replaced) entries.ledger.Add(*replaced);
    if (!room.ok()) {
      return room.error().WithContext("Quota of namespace '" + std::string(name_space) + "'");
    }
    leaving = std::move(room).value();
  }
  for (const BlobEntry& one : leaving) {
    const Status removed = inner_->Remove(name_space, one.digest);
    if (!removed.ok() && removed.error().code != ErrorCode::kNotFound) return removed;
  }
  return Ok();
}

}  // namespace stoker
