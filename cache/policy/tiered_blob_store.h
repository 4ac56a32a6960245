// TieredBlobStore: a fast store in front of a large one. Bytes that cross from back to front are
// hashed: those that do not fit their name are quarantined in the back and are a miss. Concurrent
// fills of one blob share one read of the back.
#pragma once

#include <memory>

#include "cache/blob_store.h"
#include "cache/policy/single_flight.h"

namespace stoker {

// Whose answer counts for Put, Delete, Visit and Sync. The other tier gets the same calls, and its
// failures cost speed only.
enum class Authority {
  kFront,  // A local store in front of a shared one, which may be away.
  kBack,   // Memory in front of a disk.
};

class TieredBlobStore : public BlobStore {
 public:
  TieredBlobStore(std::unique_ptr<BlobStore> front, std::unique_ptr<BlobStore> back,
                  Authority authority);

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
  Status Sync() override;

  // Gets that shared another one's read of the back.
  std::uint64_t shared_fill_count() const { return fills_.shared_count(); }

 private:
  Result<Blob> Fill(const Digest& digest);

  const std::unique_ptr<BlobStore> front_;
  const std::unique_ptr<BlobStore> back_;
  BlobStore& authority_;
  BlobStore& other_;
  SingleFlight<Digest, Result<Blob>, DigestHash> fills_;
};

}  // namespace stoker
