// RocksBlobStore: the durable tier. A blob, its access record and its size are written in one
// batch; the order of use lives in memory and reaches the disk with later writes.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
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

class RocksBlobStore : public BlobStore {
 public:
  // Reads the access records. Shared ownership: the stores of one folder share its database.
  static Result<std::unique_ptr<RocksBlobStore>> Open(std::shared_ptr<Database> database,
                                                      const Watermarks& watermarks,
                                                      UnixClock clock = SystemUnixNanos);
  ~RocksBlobStore() override;

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

  LedgerUsage usage() const;
  // Blobs quarantined by this process.
  std::uint64_t quarantined_count() const;

 private:
  RocksBlobStore(std::shared_ptr<Database> database, const Watermarks& watermarks, UnixClock clock);

  Status LoadLedger();
  BlobKind Use(const Digest& digest);
  Status ForgetGhost(const Digest& digest);
  // These require write_mutex_.
  Status MakeRoom(std::uint64_t bytes);
  Status Evict(const std::vector<BlobEntry>& leaving);
  void AppendUses(WriteOps& ops);
  Status WriteUses();
  Status TrimQuarantine();

  const std::shared_ptr<Database> database_;
  const UnixClock clock_;
  // Serializes writers, so that the deletion of an evicted blob cannot overtake its next Put.
  // Taken before ledger_mutex_.
  std::mutex write_mutex_;
  mutable std::mutex ledger_mutex_;  // Guards what follows; never held over I/O.
  LruLedger ledger_;
  std::unordered_set<Digest, DigestHash> used_;  // Since the last write of access records.
  std::uint64_t quarantined_count_ = 0;
};

}  // namespace stoker
