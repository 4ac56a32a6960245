// RocksBlobStore: the durable tier. A blob, its access record and its size are written in one
// batch; the order of use lives in memory and reaches the disk with later writes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "cache/blob_store.h"
#include "cache/clock.h"
#include "cache/lru_ledger.h"

namespace stoker {

class Database;
class WriteOps;

// The quarantine keeps the latest so many damaged blobs, and so many bytes of each.
inline constexpr std::size_t kMaxQuarantinedBlobs = 256;
inline constexpr std::size_t kMaxQuarantinedBytes = 64 * 1024;
// Uses that may wait in memory for a write that takes them along.
inline constexpr std::size_t kMaxPendingUses = 1024;

// EvictTo deletes so much at a time: others write in between.
inline constexpr std::uint64_t kEvictionStepBytes = std::uint64_t{16} << 20;

class RocksBlobStore : public BlobStore {
 public:
  // Shared ownership: the stores of one folder share its database. Until Load has returned, reads
  // are answered from the database alone, and no more is written than the watermarks leave between
  // high and hard: what is stored is not known yet, nor who would have to leave.
  RocksBlobStore(std::shared_ptr<Database> database, const Watermarks& watermarks,
                 UnixClock clock = SystemUnixNanos);
  ~RocksBlobStore() override;

  // Reads the access records; once. kDataLoss: they are damaged; see SetAside. kUnavailable: `stop`
  // became true.
  Status Load(const std::atomic<bool>& stop);
  // The database is damaged as a whole: an empty one takes its place. Ends what Load has not.
  Status SetAside(std::string_view reason);
  bool loading() const;

  Result<Blob> Get(const Digest& digest) override;
  Status Put(const NamedBlob& blob) override;
  Result<bool> Contains(const Digest& digest) override;
  void Touch(std::span<const Digest> digests) override;
  Status Delete(const Digest& digest) override;
  Status Quarantine(const Digest& digest, std::string_view reason) override;
  Status Visit(const std::function<bool(const BlobEntry&)>& visit) override;
  void Pin(const Digest& digest) override;
  void Unpin(const Digest& digest) override;
  Status Sync() override;

  // The stored bytes, whatever they hash to. No use of the blob, and damage (kDataLoss) stays.
  Result<Blob> Read(const Digest& digest);
  // Evicts the coldest until what is stored counts at most `bytes`, only pinned blobs are left, or
  // `stop` is true. The digests of what has left.
  Result<std::vector<Digest>> EvictTo(std::uint64_t bytes, const std::atomic<bool>& stop);

  LedgerUsage usage() const;
  // Blobs quarantined by this process.
  std::uint64_t quarantined_count() const;

 private:
  // What the ledger says or, while it is loaded, the access record.
  std::optional<BlobEntry> Find(const Digest& digest);
  std::optional<BlobEntry> ReadRecord(const Digest& digest);
  BlobKind Use(const Digest& digest);
  Status ForgetGhost(const Digest& digest);
  void DropUndecodable(const std::vector<std::string>& keys);
  // These require write_mutex_.
  Status PutReserved(const NamedBlob& blob);
  Status MakeRoom(std::uint64_t bytes);
  Status Evict(const std::vector<BlobEntry>& leaving, EvictionReason reason);
  void AppendUses(WriteOps& ops);
  Status WriteUses();
  Status TrimQuarantine();

  const std::shared_ptr<Database> database_;
  const Watermarks watermarks_;
  const UnixClock clock_;
  // Serializes writers, so that the deletion of an evicted blob cannot overtake its next Put.
  // Taken before ledger_mutex_.
  std::mutex write_mutex_;
  mutable std::mutex ledger_mutex_;  // Guards what follows; never held over I/O.
  LruLedger ledger_;
  std::unordered_set<Digest, DigestHash> used_;  // Since the last write of access records.
  std::uint64_t quarantined_count_ = 0;
  std::uint64_t disk_refused_count_ = 0;
  std::uint64_t reserved_bytes_ = 0;
};

}  // namespace stoker
