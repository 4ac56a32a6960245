#include "cache/rocks/rocks_blob_store.h"

#include <algorithm>

#include "cache/rocks/database/database.h"
#include "cache/rocks/database/status.h"
#include "cache/rocks/rocks_records.h"

namespace stoker {
namespace {

Error Missing(const Digest& digest) {
  return NotFound("Blob " + digest.ToHex() + " is not stored.");
}

}  // namespace

RocksBlobStore::RocksBlobStore(std::shared_ptr<Database> database, const Watermarks& watermarks,
                               UnixClock clock)
    : database_(std::move(database)),
      watermarks_(watermarks),
      clock_(std::move(clock)),
      ledger_(watermarks) {
  ledger_.BeginLoad(watermarks.hard - watermarks.high);
}

RocksBlobStore::~RocksBlobStore() {
  const std::lock_guard lock(write_mutex_);
  const Status written = WriteUses();
  if (!written.ok()) database_->Log("Order of use is lost: " + written.error().message);
}

Status RocksBlobStore::Load(const std::atomic<bool>& stop) {
  std::vector<BlobEntry> entries;
  std::vector<std::string> undecodable;
  STOKER_RETURN_IF_ERROR(
      database_->Scan(Family::kAccess, "", [&](std::string_view key, std::string_view value) {
        const Result<BlobEntry> entry = DecodeAccess(key, value);
        if (entry.ok()) {
          entries.push_back(*entry);
        } else {
          database_->Log("A blob is dropped: " + entry.error().message);
          undecodable.emplace_back(key);
        }
        return !stop;
      }));
  if (stop) return Unavailable("Reading of the access records was stopped.");
  std::sort(entries.begin(), entries.end(), [](const BlobEntry& a, const BlobEntry& b) {
    return a.accessed_unix_ns < b.accessed_unix_ns;
  });
  LruLedger stored(watermarks_);
  for (const BlobEntry& entry : entries) stored.Add(entry);
  {
    const std::lock_guard lock(ledger_mutex_);
    for (const Digest& digest : ledger_.EndLoad(std::move(stored))) used_.insert(digest);
  }
  DropUndecodable(undecodable);
  return Ok();
}

// A blob of which nothing is known would never leave.
void RocksBlobStore::DropUndecodable(const std::vector<std::string>& keys) {
  if (keys.empty()) return;
  const std::lock_guard lock(write_mutex_);
  WriteOps ops;
  for (const std::string& key : keys) {
    const Result<Digest> digest = Digest::FromBytes(key);
    {
      const std::lock_guard ledger_lock(ledger_mutex_);
      if (digest.ok() && ledger_.Find(*digest) != nullptr) continue;  // It was put again.
    }
    ops.Delete(Family::kBlobs, key);
    ops.Delete(Family::kAccess, key);
  }
  const Status written = database_->Write(ops, /*sync=*/false);
  if (!written.ok()) database_->Log("Dropping blobs fails: " + written.error().message);
}

Status RocksBlobStore::SetAside(std::string_view reason) {
  const std::lock_guard lock(write_mutex_);
  STOKER_RETURN_IF_ERROR(database_->SetAside(reason));
  const std::lock_guard ledger_lock(ledger_mutex_);
  for (const BlobEntry& entry : ledger_.Entries()) ledger_.Remove(entry.digest);
  used_.clear();
  if (ledger_.loading()) ledger_.EndLoad(LruLedger(watermarks_));
  return Ok();
}

bool RocksBlobStore::loading() const {
  const std::lock_guard lock(ledger_mutex_);
  return ledger_.loading();
}

std::optional<BlobEntry> RocksBlobStore::ReadRecord(const Digest& digest) {
  std::string value;
  if (!database_->Get(Family::kAccess, digest.AsBytes(), &value).ok()) return std::nullopt;
  const Result<BlobEntry> entry = DecodeAccess(digest.AsBytes(), value);
  return entry.ok() ? std::optional(*entry) : std::nullopt;
}

std::optional<BlobEntry> RocksBlobStore::Find(const Digest& digest) {
  {
    const std::lock_guard lock(ledger_mutex_);
    if (const BlobEntry* entry = ledger_.Find(digest)) return *entry;
    if (!ledger_.loading()) return std::nullopt;
  }
  return ReadRecord(digest);
}

Result<Blob> RocksBlobStore::Get(const Digest& digest) {
  std::string bytes;
  const rocksdb::Status status = database_->Get(Family::kBlobs, digest.AsBytes(), &bytes);
  if (status.ok()) {
    const BlobKind kind = Use(digest);
    return Blob(std::move(bytes), kind);
  }
  if (status.IsNotFound()) {
    (void)ForgetGhost(digest);  // On a disk that takes no writes it stays, and is found again.
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
  bool loading = false;
  {
    const std::lock_guard ledger_lock(ledger_mutex_);
    if (ledger_.Touch(named.digest(), clock_())) {
      used_.insert(named.digest());
      return Ok();
    }
    loading = ledger_.loading();
  }
  if (loading && ReadRecord(named.digest())) return Ok();
  STOKER_RETURN_IF_ERROR(MakeRoom(bytes.size()));
  const Status stored = PutReserved(named);
  const std::lock_guard ledger_lock(ledger_mutex_);
  reserved_bytes_ = 0;
  if (!stored.ok() && stored.error().code == ErrorCode::kResourceExhausted) ++disk_refused_count_;
  return stored;
}

Status RocksBlobStore::PutReserved(const NamedBlob& named) {
  const std::string_view bytes = named.blob().bytes();
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
  ledger_.Remove(entry.digest);  // Load may have read the record since it was written.
  ledger_.Add(entry);
  return Ok();
}

Result<bool> RocksBlobStore::Contains(const Digest& digest) { return Find(digest).has_value(); }

void RocksBlobStore::Touch(std::span<const Digest> digests) {
  const std::lock_guard lock(ledger_mutex_);
  for (const Digest& digest : digests) {
    if (ledger_.Touch(digest, clock_())) used_.insert(digest);
  }
}

Status RocksBlobStore::Delete(const Digest& digest) {
  const std::lock_guard lock(write_mutex_);
  const std::optional<BlobEntry> entry = Find(digest);
  if (!entry) return Missing(digest);
  {
    const std::lock_guard ledger_lock(ledger_mutex_);
    if (ledger_.IsPinned(digest)) {
      return FailedPrecondition("Blob " + digest.ToHex() + " is pinned.");
    }
  }
  WriteOps ops;
  ops.Delete(Family::kBlobs, digest.AsBytes());
  ops.Delete(Family::kAccess, digest.AsBytes());
  STOKER_RETURN_IF_ERROR(database_->Write(ops, /*sync=*/false));
  database_->AddGarbage(entry->bytes);
  const std::lock_guard ledger_lock(ledger_mutex_);
  ledger_.Remove(digest);
  return Ok();
}

Status RocksBlobStore::Quarantine(const Digest& digest, std::string_view reason) {
  const std::lock_guard lock(write_mutex_);
  const std::optional<BlobEntry> entry = Find(digest);
  if (!entry) return Missing(digest);
  QuarantineRecord record;
  record.unix_ns = clock_();
  record.reason = std::string(reason);
  record.kind = entry->kind;
  record.bytes = entry->bytes;
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
  bool loading = false;
  {
    const std::lock_guard lock(ledger_mutex_);
    loading = ledger_.loading();
    if (!loading) entries = ledger_.Entries();
  }
  if (loading) {
    return database_->Scan(Family::kAccess, "", [&](std::string_view key, std::string_view value) {
      const Result<BlobEntry> entry = DecodeAccess(key, value);
      return !entry.ok() || visit(*entry);
    });
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

Result<Blob> RocksBlobStore::Read(const Digest& digest) {
  std::string bytes;
  const rocksdb::Status status = database_->Get(Family::kBlobs, digest.AsBytes(), &bytes);
  if (!status.ok()) return FromRocks(status, "Blob " + digest.ToHex());
  const std::optional<BlobEntry> entry = Find(digest);
  return Blob(std::move(bytes), entry ? entry->kind : BlobKind::kOther);
}

Result<std::vector<Digest>> RocksBlobStore::EvictTo(std::uint64_t bytes,
                                                    const std::atomic<bool>& stop) {
  std::vector<Digest> gone;
  while (!stop) {
    const std::lock_guard lock(write_mutex_);
    std::vector<BlobEntry> leaving;
    {
      const std::lock_guard ledger_lock(ledger_mutex_);
      const std::uint64_t stored = ledger_.usage().bytes;
      if (stored <= bytes) break;
      leaving = ledger_.TakeColdest(std::min(stored - bytes, kEvictionStepBytes),
                                    EvictionReason::kRequest);
    }
    if (leaving.empty()) break;
    STOKER_RETURN_IF_ERROR(Evict(leaving, EvictionReason::kRequest));
    for (const BlobEntry& entry : leaving) gone.push_back(entry.digest);
  }
  return gone;
}

LedgerUsage RocksBlobStore::usage() const {
  const std::lock_guard lock(ledger_mutex_);
  LedgerUsage usage = ledger_.usage();
  usage.disk_refused_count = disk_refused_count_;
  usage.reserved_bytes = reserved_bytes_;
  return usage;
}

std::uint64_t RocksBlobStore::quarantined_count() const {
  const std::lock_guard lock(ledger_mutex_);
  return quarantined_count_;
}

BlobKind RocksBlobStore::Use(const Digest& digest) {
  BlobKind kind = BlobKind::kOther;  // Of a blob that was evicted while it was read.
  bool is_known = true;
  bool are_many = false;
  {
    const std::lock_guard lock(ledger_mutex_);
    if (ledger_.Touch(digest, clock_())) {
      used_.insert(digest);
      kind = ledger_.Find(digest)->kind;
    } else {
      is_known = !ledger_.loading();
    }
    are_many = used_.size() >= kMaxPendingUses;
  }
  if (!is_known) {
    if (const std::optional<BlobEntry> record = ReadRecord(digest)) kind = record->kind;
  }
  if (!are_many) return kind;
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
  const EvictionReason reason = disk.ok() ? EvictionReason::kLimit : EvictionReason::kFreeDisk;
  std::vector<BlobEntry> leaving;
  {
    const std::lock_guard lock(ledger_mutex_);
    if (disk.ok()) {
      STOKER_TRY(leaving, ledger_.MakeRoom(bytes));
      reserved_bytes_ = bytes;
    } else {
      // Refuse this write, but turn the cache over: a full disk must not freeze what it holds. No
      // more goes while the disk is owed as much: deleting gives it nothing back yet.
      if (database_->owed_bytes() < bytes) leaving = ledger_.TakeColdest(bytes, reason);
      ++disk_refused_count_;
    }
  }
  const Status evicted = Evict(leaving, reason);
  if (!disk.ok()) database_->RequestReclaim();
  if (evicted.ok()) return disk;
  const std::lock_guard lock(ledger_mutex_);
  reserved_bytes_ = 0;
  return evicted;
}

Status RocksBlobStore::Evict(const std::vector<BlobEntry>& leaving, EvictionReason reason) {
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
  ledger_.Restore(leaving, reason);
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
