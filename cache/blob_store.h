// BlobStore: digest -> bytes. The one interface of every tier and every policy (decorator).
// All calls are safe from any thread and may block on I/O: call them from a thread pool.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "cache/blob.h"
#include "protocol/base/digest.h"
#include "protocol/base/result.h"

namespace stoker {

struct BlobEntry {
  Digest digest;
  BlobKind kind = BlobKind::kOther;
  std::uint64_t bytes = 0;
  std::int64_t accessed_unix_ns = 0;
};

class BlobStore {
 public:
  virtual ~BlobStore() = default;

  // kNotFound: a miss; damage that is found while reading is quarantined and is a miss too.
  // kUnavailable: the store cannot be read now. Counts as a use of the blob.
  virtual Result<Blob> Get(const Digest& digest) = 0;

  // The blob if it can be had without I/O and without waiting, which counts as a use. Nothing says
  // nothing: ask Get.
  virtual std::optional<Blob> GetNow(const Digest& /*digest*/) { return std::nullopt; }

  // Storing what is already there succeeds, keeps the first kind, and counts as a use. Nothing is
  // visible before all of it is. kResourceExhausted: no room can be made, or the disk is full; what
  // is stored stays readable. A successful Put outlives this process, and outlives the machine
  // after Sync() or after the ActionIndex of the same database publishes an entry.
  virtual Status Put(const NamedBlob& blob) = 0;

  // Says nothing about damage, and is no use of the blob.
  virtual Result<bool> Contains(const Digest& digest) = 0;

  // Counts as a use of each blob that is there. A hint: never fails, never waits for I/O.
  virtual void Touch(std::span<const Digest> digests) = 0;

  // kNotFound: nothing to delete. kFailedPrecondition: the blob is pinned.
  virtual Status Delete(const Digest& digest) = 0;

  // Takes a blob that was found to be damaged or foreign out of service, pinned or not, and keeps
  // what can be kept for a look at it. kNotFound: nothing is stored under the digest.
  virtual Status Quarantine(const Digest& digest, std::string_view reason) = 0;

  // Calls `visit` for each blob, in no particular order, until it returns false. Blobs that come or
  // go meanwhile may or may not be seen.
  virtual Status Visit(const std::function<bool(const BlobEntry&)>& visit) = 0;

  // A pinned blob is never evicted. Pins nest, belong to this process, and may precede the Put.
  virtual void Pin(const Digest& digest) = 0;
  virtual void Unpin(const Digest& digest) = 0;

  // Returns when every earlier successful Put survives a power failure.
  virtual Status Sync() = 0;
};

// Hashes and stores; the digest is the blob's name.
Result<Digest> PutBytes(BlobStore& store, std::string bytes, BlobKind kind);

// Keeps one blob pinned for the lifetime of the object. The store must outlive it.
class BlobPin {
 public:
  BlobPin(BlobStore& store, const Digest& digest) : store_(&store), digest_(digest) {
    store_->Pin(digest_);
  }
  ~BlobPin() { Release(); }
  BlobPin(BlobPin&& other) noexcept
      : store_(std::exchange(other.store_, nullptr)), digest_(other.digest_) {}
  BlobPin& operator=(BlobPin&& other) noexcept {
    if (this != &other) {
      Release();
      store_ = std::exchange(other.store_, nullptr);
      digest_ = other.digest_;
    }
    return *this;
  }
  BlobPin(const BlobPin&) = delete;
  BlobPin& operator=(const BlobPin&) = delete;

 private:
  void Release() {
    if (store_ != nullptr) store_->Unpin(digest_);
    store_ = nullptr;
  }

  BlobStore* store_;
  Digest digest_;
};

}  // namespace stoker
