#include "cache/lru_ledger.h"

#include <algorithm>

namespace stoker {

std::string_view EvictionReasonName(EvictionReason reason) {
  switch (reason) {
    case EvictionReason::kLimit:
      return "limit";
    case EvictionReason::kFreeDisk:
      return "free_disk";
    case EvictionReason::kRequest:
      return "request";
  }
  return "unknown";
}

Watermarks Watermarks::Of(std::uint64_t limit_bytes) {
  return {.low = limit_bytes - limit_bytes / 20 * 3,
          .high = limit_bytes - limit_bytes / 20,
          .hard = limit_bytes};
}

Result<std::vector<BlobEntry>> LruLedger::MakeRoom(std::uint64_t bytes) {
  const std::uint64_t incoming = bytes + kEntryOverheadBytes;
  if (pinned_bytes_ + incoming > watermarks_.hard) {
    ++usage_.refused_count;
    return ResourceExhausted("No room for " + std::to_string(bytes) + " bytes: the limit is " +
                             std::to_string(watermarks_.hard) + " bytes, of which " +
                             std::to_string(pinned_bytes_) + " are pinned.");
  }
  if (load_) {
    if (usage_.bytes + incoming <= load_->allowance_bytes) return std::vector<BlobEntry>();
    ++usage_.refused_count;
    return Unavailable("No room yet for " + std::to_string(bytes) +
                       " bytes: while the records of what is stored are read, at most " +
                       std::to_string(load_->allowance_bytes) + " bytes are stored.");
  }
  if (usage_.bytes + incoming <= watermarks_.high) return std::vector<BlobEntry>();
  // A blob larger than the low mark empties the ledger of all that may go.
  return TakeColdest(usage_.bytes + incoming - watermarks_.low, EvictionReason::kLimit);
}

std::vector<BlobEntry> LruLedger::TakeColdest(std::uint64_t bytes, EvictionReason reason) {
  std::vector<BlobEntry> leaving;
  if (load_) return leaving;  // Who is the coldest is not known.
  std::uint64_t freed = 0;
  while (!unpinned_.empty() && freed < bytes) {
    leaving.push_back(Take(unpinned_.begin()));
    freed += Charge(leaving.back());
    ++usage_.evicted_count;
    ++usage_.evicted_by[static_cast<std::size_t>(reason)];
    usage_.evicted_bytes += leaving.back().bytes;
  }
  return leaving;
}

void LruLedger::Restore(const std::vector<BlobEntry>& entries, EvictionReason reason) {
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    Insert(*entry, /*hottest=*/false);
    --usage_.evicted_count;
    --usage_.evicted_by[static_cast<std::size_t>(reason)];
    usage_.evicted_bytes -= entry->bytes;
  }
}

void LruLedger::BeginLoad(std::uint64_t allowance_bytes) {
  STOKER_CHECK(!load_ && index_.empty());
  load_.emplace().allowance_bytes = allowance_bytes;
}

std::vector<Digest> LruLedger::EndLoad(LruLedger stored) {
  STOKER_CHECK(load_ && !stored.load_);
  const std::vector<BlobEntry> newer = Entries();
  for (const Digest& digest : load_->removed) stored.Remove(digest);
  for (const BlobEntry& entry : newer) stored.Remove(entry.digest);
  for (const auto& [digest, count] : pins_) {
    for (std::uint32_t i = 0; i < count; ++i) stored.Pin(digest);
  }
  std::vector<Digest> used;
  for (const auto& [digest, unix_ns] : load_->uses) {
    if (stored.Touch(digest, unix_ns)) used.push_back(digest);
  }
  for (BlobEntry entry : newer) {
    entry.accessed_unix_ns = stored.NextAccess(entry.accessed_unix_ns);
    stored.Add(entry);
    used.push_back(entry.digest);
  }
  stored.usage_.refused_count += usage_.refused_count;
  *this = std::move(stored);
  return used;
}

void LruLedger::Add(const BlobEntry& entry) {
  Insert(entry, /*hottest=*/true);
  last_access_ = std::max(last_access_, entry.accessed_unix_ns);
}

bool LruLedger::Touch(const Digest& digest, std::int64_t now_unix_ns) {
  const auto found = index_.find(digest);
  if (found == index_.end()) {
    if (load_ && load_->uses.size() < kMaxUsesWhileLoading) {
      load_->uses.emplace_back(digest, now_unix_ns);
    }
    return false;
  }
  found->second->accessed_unix_ns = NextAccess(now_unix_ns);
  List& list = IsPinned(digest) ? pinned_ : unpinned_;
  list.splice(list.end(), list, found->second);
  return true;
}

std::optional<BlobEntry> LruLedger::Remove(const Digest& digest) {
  if (load_) load_->removed.insert(digest);
  const auto found = index_.find(digest);
  if (found == index_.end()) return std::nullopt;
  return Take(found->second);
}

const BlobEntry* LruLedger::Find(const Digest& digest) const {
  const auto found = index_.find(digest);
  return found == index_.end() ? nullptr : &*found->second;
}

void LruLedger::Pin(const Digest& digest) {
  if (pins_[digest]++ > 0) return;
  const auto found = index_.find(digest);
  if (found == index_.end()) return;
  pinned_.splice(pinned_.end(), unpinned_, found->second);
  pinned_bytes_ += Charge(*found->second);
}

void LruLedger::Unpin(const Digest& digest) {
  const auto pin = pins_.find(digest);
  STOKER_CHECK(pin != pins_.end());
  if (--pin->second > 0) return;
  pins_.erase(pin);
  const auto found = index_.find(digest);
  if (found == index_.end()) return;
  unpinned_.splice(unpinned_.end(), pinned_, found->second);
  pinned_bytes_ -= Charge(*found->second);
}

std::int64_t LruLedger::NextAccess(std::int64_t now_unix_ns) {
  last_access_ = std::max(now_unix_ns, last_access_ + 1);
  return last_access_;
}

LedgerUsage LruLedger::usage() const {
  LedgerUsage usage = usage_;
  usage.limit_bytes = watermarks_.hard;
  usage.pinned_count = pinned_.size();
  usage.pinned_bytes = pinned_bytes_;
  return usage;
}

std::vector<BlobEntry> LruLedger::Entries() const {
  std::vector<BlobEntry> entries(unpinned_.begin(), unpinned_.end());
  entries.insert(entries.end(), pinned_.begin(), pinned_.end());
  return entries;
}

void LruLedger::Insert(const BlobEntry& entry, bool hottest) {
  STOKER_CHECK(!index_.contains(entry.digest));
  const bool pinned = IsPinned(entry.digest);
  List& list = pinned ? pinned_ : unpinned_;
  index_[entry.digest] = list.insert(hottest ? list.end() : list.begin(), entry);
  if (pinned) pinned_bytes_ += Charge(entry);
  ++usage_.count;
  usage_.bytes += Charge(entry);
  KindUsage& kind = usage_.Of(entry.kind);
  ++kind.count;
  kind.bytes += entry.bytes;
}

BlobEntry LruLedger::Take(List::iterator position) {
  const BlobEntry entry = *position;
  const bool pinned = IsPinned(entry.digest);
  index_.erase(entry.digest);
  (pinned ? pinned_ : unpinned_).erase(position);
  if (pinned) pinned_bytes_ -= Charge(entry);
  --usage_.count;
  usage_.bytes -= Charge(entry);
  KindUsage& kind = usage_.Of(entry.kind);
  --kind.count;
  kind.bytes -= entry.bytes;
  return entry;
}

}  // namespace stoker
