#include "cache/rocks_blob_store.h"

#include <algorithm>

#include "cache/rocks/database.h"
#include "cache/rocks/status.h"
#include "cache/rocks_records.h"

namespace stoker {
namespace {

Error Missing(const Digest& digest) {
  return NotFound("Blob " + digest.ToHex() + " is not stored.");
}

}  // namespace

RocksBlobStore::RocksBlobStore(std::shared_ptr<Database> database, const Watermarks& watermarks,
                               UnixClock clock)
    : database_(std::move(database)), clock_(std::move(clock)), ledger_(watermarks) {}

Result<std::unique_ptr<RocksBlobStore>> RocksBlobStore::Open(std::shared_ptr<Database> database,
                                                             const Watermarks& watermarks,
                                                             UnixClock clock) {
  std::unique_ptr<RocksBlobStore> store(
      new RocksBlobStore(std::move(database), watermarks, std::move(clock)));
  STOKER_RETURN_IF_ERROR(store->LoadLedger());
  return store;
}

RocksBlobStore::~RocksBlobStore() {
  const std::lock_guard lock(write_mutex_);
  const Status written = WriteUses();
  if (!written.ok()) database_->Log("Order of use is lost: " + written.error().message);
}

Status RocksBlobStore::LoadLedger() {
  std::vector<BlobEntry> entries;
  STOKER_RETURN_IF_ERROR(
      database_->Scan(Family::kAccess, "", [&](std::string_view key, std::string_view value) {
        const Result<BlobEntry> entry = DecodeAccess(key, value);
        // Its blob is not served until it is put again.
        if (entry.ok()) entries.push_back(*entry);
        if (!entry.ok()) database_->Log("Access record is skipped: " + entry.error().message);
        return true;
      }));
  std::sort(entries.begin(), entries.end(), [](const BlobEntry& a, const BlobEntry& b) {
    return a.accessed_unix_ns < b.accessed_unix_ns;
  });
  for (const BlobEntry& entry : entries) ledger_.Add(entry);
  return Ok();
}

Result<Blob> RocksBlobStore::Get(const Digest& digest) {
  std::string bytes;
  const rocksdb::Status status = database_->Get(Family::kBlobs, digest.AsBytes(), &bytes);
  if (status.ok()) {
    const BlobKind kind = Use(digest);
    return Blob(std::move(bytes), kind);
  }
  if (status.IsNotFound()) {
    STOKER_RETURN_IF_ERROR(ForgetGhost(digest));
    return Missing(digest);
  }
  if (!IsDamage(status)) return FromRocks(status, "Blob " + digest.ToHex());
  // Whether or not it could be moved aside, the caller cannot have it: a miss.
  const Status moved = Quarantine(digest, status.ToString());
  if (!moved.ok()) database_->Log("Quarantine failed: " + moved.error().message);
  return NotFound("Blob " + digest.ToHex() + " is damaged: " + status.ToString());
}

Status RocksBlobStore::Put(const NamedBlob& named) {
  const std::string_view bytes = named.blob().bytes();
  if (bytes.size() > kMaxBlobBytes) {
    return ResourceExhausted("Blob has " + std::to_string(bytes.size()) + " bytes; the limit is " +
                             std::to_string(kMaxBlobBytes) + ".");
  }
  const std::lock_guard lock(write_mutex_);
  {
    const std::lock_guard ledger_lock(ledger_mutex_);
    if (ledger_.Touch(named.digest(), clock_())) {
      used_.insert(named.digest());
      return Ok();
    }
  }
  STOKER_RETURN_IF_ERROR(MakeRoom(bytes.size()));
  BlobEntry entry{.digest = named.digest(), .kind = named.blob().kind(), .bytes = bytes.size()};
  WriteOps ops;
  {
    const std::lock_guard ledger_lock(ledger_mutex_);
    entry.accessed_unix_ns = ledger_.NextAccess(clock_());
    AppendUses(ops);
  }
  ops.PutBorrowed(Family::kBlobs, entry.digest.AsBytes(), bytes);
  ops.Put(Family::kAccess, entry.digest.AsBytes(), EncodeAccess(entry));
  STOKER_RETURN_IF_ERROR(database_->Write(ops, /*sync=*/false));
  const std::lock_guard ledger_lock(ledger_mutex_);
  ledger_.Add(entry);
  return Ok();
}

Result<bool> RocksBlobStore::Contains(const Digest& digest) {
  const std::lock_guard lock(ledger_mutex_);
  return ledger_.Find(digest) != nullptr;
}

void RocksBlobStore::Touch(std::span<const Digest> digests) {
  const std::lock_guard lock(ledger_mutex_);
  for (const Digest& digest : digests) {
    if (ledger_.Touch(digest, clock_())) used_.insert(digest);
  }
}

Status RocksBlobStore::Delete(const Digest& digest) {
  const std::lock_guard lock(write_mutex_);
  std::uint64_t bytes = 0;
  {
    const std::lock_guard ledger_lock(ledger_mutex_);
    const BlobEntry* entry = ledger_.Find(digest);
    if (entry == nullptr) return Missing(digest);
    if (ledger_.IsPinned(digest)) {
      return FailedPrecondition("Blob " + digest.ToHex() + " is pinned.");
    }
    bytes = entry->bytes;
  }
  WriteOps ops;
  ops.Delete(Family::kBlobs, digest.AsBytes());
  ops.Delete(Family::kAccess, digest.AsBytes());
  STOKER_RETURN_IF_ERROR(database_->Write(ops, /*sync=*/false));
  database_->AddGarbage(bytes);
  const std::lock_guard ledger_lock(ledger_mutex_);
  ledger_.Remove(digest);
  return Ok();
}

Status RocksBlobStore::Quarantine(const Digest& digest, std::string_view reason) {
  const std::lock_guard lock(write_mutex_);
  QuarantineRecord record;
  record.unix_ns = clock_();
  record.reason = std::string(reason);
  {
    const std::lock_guard ledger_lock(ledger_mutex_);
    const BlobEntry* entry = ledger_.Find(digest);
    if (entry == nullptr) return Missing(digest);
    record.kind = entry->kind;
    record.bytes = entry->bytes;
  }
  // Only what passes RocksDB's own checksum: without that check, its decompression aborts the
  // process on damaged bytes.
  if (!database_->Get(Family::kBlobs, digest.AsBytes(), &record.content).ok()) {
    record.content.clear();
  }
  record.content.resize(std::min(record.content.size(), kMaxQuarantinedBytes));
  WriteOps ops;
  ops.Delete(Family::kBlobs, digest.AsBytes());
  ops.Delete(Family::kAccess, digest.AsBytes());
  ops.Put(Family::kQuarantine, digest.AsBytes(), EncodeQuarantine(record));
  STOKER_RETURN_IF_ERROR(database_->Write(ops, /*sync=*/false));
  database_->Log("Blob " + digest.ToHex() + " (" + std::string(BlobKindName(record.kind)) + ", " +
                 std::to_string(record.bytes) + " bytes) is quarantined: " + record.reason);
  {
    const std::lock_guard ledger_lock(ledger_mutex_);
    ledger_.Remove(digest);
    ++quarantined_count_;
  }
  return TrimQuarantine();
}

Status RocksBlobStore::Visit(const std::function<bool(const BlobEntry&)>& visit) {
  std::vector<BlobEntry> entries;
  {
    const std::lock_guard lock(ledger_mutex_);
    entries = ledger_.Entries();
  }
  for (const BlobEntry& entry : entries) {
    if (!visit(entry)) break;
  }
  return Ok();
}

void RocksBlobStore::Pin(const Digest& digest) {
  const std::lock_guard lock(ledger_mutex_);
  ledger_.Pin(digest);
}

void RocksBlobStore::Unpin(const Digest& digest) {
  const std::lock_guard lock(ledger_mutex_);
  ledger_.Unpin(digest);
}

Status RocksBlobStore::Sync() {
  {
    const std::lock_guard lock(write_mutex_);
    STOKER_RETURN_IF_ERROR(WriteUses());
  }
  return database_->SyncLog();
}

LedgerUsage RocksBlobStore::usage() const {
  const std::lock_guard lock(ledger_mutex_);
  return ledger_.usage();
}

std::uint64_t RocksBlobStore::quarantined_count() const {
  const std::lock_guard lock(ledger_mutex_);
  return quarantined_count_;
}

BlobKind RocksBlobStore::Use(const Digest& digest) {
  BlobKind kind = BlobKind::kOther;  // Of a blob that was evicted while it was read.
  {
    const std::lock_guard lock(ledger_mutex_);
    if (ledger_.Touch(digest, clock_())) {
      used_.insert(digest);
      kind = ledger_.Find(digest)->kind;
    }
    if (used_.size() < kMaxPendingUses) return kind;
  }
  // A busy writer takes the uses along itself.
  const std::unique_lock lock(write_mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return kind;
  const Status written = WriteUses();
  if (!written.ok()) database_->Log("Order of use is lost: " + written.error().message);
  return kind;
}

// An access record whose blob is not there, which only damage can leave.
Status RocksBlobStore::ForgetGhost(const Digest& digest) {
  if (!*Contains(digest)) return Ok();
  const std::lock_guard lock(write_mutex_);
  // Again, now that no Put can be between its two steps.
  std::string bytes;
  if (!*Contains(digest)) return Ok();
  if (!database_->Get(Family::kBlobs, digest.AsBytes(), &bytes).IsNotFound()) return Ok();
  WriteOps ops;
  ops.Delete(Family::kAccess, digest.AsBytes());
  STOKER_RETURN_IF_ERROR(database_->Write(ops, /*sync=*/false));
  const std::lock_guard ledger_lock(ledger_mutex_);
  ledger_.Remove(digest);
  return Ok();
}

Status RocksBlobStore::MakeRoom(std::uint64_t bytes) {
  const Status disk = database_->CheckFreeDisk(bytes);
  std::vector<BlobEntry> leaving;
  {
    const std::lock_guard lock(ledger_mutex_);
    if (disk.ok()) {
      STOKER_TRY(leaving, ledger_.MakeRoom(bytes));
    } else {
      // Refuse this write, but turn the cache over: a full disk must not freeze what it holds.
      leaving = ledger_.TakeColdest(bytes);
    }
  }
  STOKER_RETURN_IF_ERROR(Evict(leaving));
  if (!disk.ok()) database_->RequestReclaim();
  return disk;
}

Status RocksBlobStore::Evict(const std::vector<BlobEntry>& leaving) {
  if (leaving.empty()) return Ok();
  WriteOps ops;
  std::uint64_t bytes = 0;
  for (const BlobEntry& entry : leaving) {
    ops.Delete(Family::kBlobs, entry.digest.AsBytes());
    ops.Delete(Family::kAccess, entry.digest.AsBytes());
    bytes += entry.bytes;
  }
  const Status written = database_->Write(ops, /*sync=*/false);
  if (written.ok()) {
    database_->AddGarbage(bytes);
    return written;
  }
  const std::lock_guard lock(ledger_mutex_);
  ledger_.Restore(leaving);
  return written;
}

// Only of blobs that the ledger still has: a record without a blob would come back as a ghost.
void RocksBlobStore::AppendUses(WriteOps& ops) {
  for (const Digest& digest : used_) {
    const BlobEntry* entry = ledger_.Find(digest);
    if (entry == nullptr) continue;
    ops.Put(Family::kAccess, digest.AsBytes(), EncodeAccess(*entry));
  }
  used_.clear();
}

Status RocksBlobStore::WriteUses() {
  WriteOps ops;
  {
    const std::lock_guard lock(ledger_mutex_);
    AppendUses(ops);
  }
  if (ops.empty()) return Ok();
  return database_->Write(ops, /*sync=*/false);
}

Status RocksBlobStore::TrimQuarantine() {
  std::vector<std::pair<std::int64_t, std::string>> records;
  STOKER_RETURN_IF_ERROR(
      database_->Scan(Family::kQuarantine, "", [&](std::string_view key, std::string_view value) {
        // A record that does not decode is the first to go.
        const Result<QuarantineRecord> record = DecodeQuarantine(value);
        records.emplace_back(record.ok() ? record->unix_ns : 0, std::string(key));
        return true;
      }));
  if (records.size() <= kMaxQuarantinedBlobs) return Ok();
  std::sort(records.begin(), records.end());
  WriteOps ops;
  for (std::size_t i = 0; i < records.size() - kMaxQuarantinedBlobs; ++i) {
    ops.Delete(Family::kQuarantine, records[i].second);
  }
  return database_->Write(ops, /*sync=*/false);
}

}  // namespace stoker
