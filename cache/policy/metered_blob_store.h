// MeteredBlobStore: counts what passes through to another store, and how long it takes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "cache/blob_store.h"
#include "cache/clock.h"
#include "cache/policy/latency_histogram.h"

namespace stoker {

struct StoreMetrics {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;      // Get: kNotFound.
  std::uint64_t get_errors = 0;  // Get: anything else.
  std::uint64_t get_bytes = 0;
  std::uint64_t puts = 0;
  std::uint64_t put_errors = 0;
  std::uint64_t put_bytes = 0;
  std::uint64_t deletes = 0;
  std::uint64_t quarantines = 0;
  LatencySnapshot get_latency;  // Hits, misses and errors.
  LatencySnapshot put_latency;
};

class MeteredBlobStore : public BlobStore {
 public:
  explicit MeteredBlobStore(std::unique_ptr<BlobStore> inner, MonotonicClock clock = SteadyNanos);

  Result<Blob> Get(const Digest& digest) override;
  // Counts what it finds alone: for the rest, Get is asked.
  std::optional<Blob> GetNow(const Digest& digest) override;
  Status Put(const NamedBlob& blob) override;
  Result<bool> Contains(const Digest& digest) override { return inner_->Contains(digest); }
  void Touch(std::span<const Digest> digests) override { inner_->Touch(digests); }
  Status Delete(const Digest& digest) override;
  Status Quarantine(const Digest& digest, std::string_view reason) override;
  Status Visit(const std::function<bool(const BlobEntry&)>& visit) override {
    return inner_->Visit(visit);
  }
  void Pin(const Digest& digest) override { inner_->Pin(digest); }
  void Unpin(const Digest& digest) override { inner_->Unpin(digest); }
  Status Sync() override { return inner_->Sync(); }

  // Not one moment: counts that change meanwhile may or may not be seen.
  StoreMetrics metrics() const;

 private:
  const std::unique_ptr<BlobStore> inner_;
  const MonotonicClock clock_;
  std::atomic<std::uint64_t> hits_ = 0;
  std::atomic<std::uint64_t> misses_ = 0;
  std::atomic<std::uint64_t> get_errors_ = 0;
  std::atomic<std::uint64_t> get_bytes_ = 0;
  std::atomic<std::uint64_t> puts_ = 0;
  std::atomic<std::uint64_t> put_errors_ = 0;
  std::atomic<std::uint64_t> put_bytes_ = 0;
  std::atomic<std::uint64_t> deletes_ = 0;
  std::atomic<std::uint64_t> quarantines_ = 0;
  LatencyHistogram get_latency_;
  LatencyHistogram put_latency_;
};

}  // namespace stoker
