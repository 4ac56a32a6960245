// MemoryBlobStore: the tier in memory, bounded in bytes, least recently used out first.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "cache/blob_store.h"
#include "cache/clock.h"
#include "cache/lru_ledger.h"

namespace stoker {

class MemoryBlobStore : public BlobStore {
 public:
  explicit MemoryBlobStore(const Watermarks& watermarks, UnixClock clock = SystemUnixNanos);

  Result<Blob> Get(const Digest& digest) override;
  std::optional<Blob> GetNow(const Digest& digest) override;
  Status Put(const NamedBlob& blob) override;
  Result<bool> Contains(const Digest& digest) override;
  void Touch(std::span<const Digest> digests) override;
  Status Delete(const Digest& digest) override;
  Status Quarantine(const Digest& digest, std::string_view reason) override;
  Status Visit(const std::function<bool(const BlobEntry&)>& visit) override;
  void Pin(const Digest& digest) override;
  void Unpin(const Digest& digest) override;
  Status Sync() override { return Ok(); }  // Nothing here survives anything.

  LedgerUsage usage() const;

 private:
  Status RemoveLocked(const Digest& digest);

  const UnixClock clock_;
  mutable std::mutex mutex_;  // Guards what follows.
  LruLedger ledger_;
  std::unordered_map<Digest, Blob, DigestHash> blobs_;
};

}  // namespace stoker
