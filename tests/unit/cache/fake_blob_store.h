// A BlobStore in memory that can be told to fail, to lie and to wait.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <utility>

#include "cache/memory/memory_blob_store.h"

namespace stoker {

class FakeBlobStore : public MemoryBlobStore {
 public:
  FakeBlobStore() : MemoryBlobStore(Watermarks::Of(std::uint64_t{1} << 30)) {}

  Result<Blob> Get(const Digest& digest) override {
    ++gets;
    if (on_get) on_get();
    if (failure) return *failure;
    Result<Blob> blob = MemoryBlobStore::Get(digest);
    if (blob.ok() && lies) return Blob("other bytes", blob->kind());
    return blob;
  }
  Status Put(const NamedBlob& blob) override {
    if (failure) return *failure;
    return MemoryBlobStore::Put(blob);
  }
  Result<bool> Contains(const Digest& digest) override {
    if (failure) return *failure;
    return MemoryBlobStore::Contains(digest);
  }
  void Touch(std::span<const Digest> digests) override {
    touched += digests.size();
    MemoryBlobStore::Touch(digests);
  }
  Status Delete(const Digest& digest) override {
    if (failure) return *failure;
    return MemoryBlobStore::Delete(digest);
  }

  std::atomic<int> gets = 0;
  std::atomic<std::size_t> touched = 0;
  bool lies = false;
  std::optional<Error> failure;
  std::function<void()> on_get;
};

}  // namespace stoker
