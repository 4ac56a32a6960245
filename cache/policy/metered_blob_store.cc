#include "cache/policy/metered_blob_store.h"

namespace stoker {

MeteredBlobStore::MeteredBlobStore(std::unique_ptr<BlobStore> inner, MonotonicClock clock)
    : inner_(std::move(inner)), clock_(std::move(clock)) {}

Result<Blob> MeteredBlobStore::Get(const Digest& digest) {
  const std::int64_t start_ns = clock_();
  Result<Blob> blob = inner_->Get(digest);
  get_latency_.Record(clock_() - start_ns);
  if (blob.ok()) {
    ++hits_;
    get_bytes_ += blob->size();
  } else if (blob.error().code == ErrorCode::kNotFound) {
    ++misses_;
  } else {
    ++get_errors_;
  }
  return blob;
}

std::optional<Blob> MeteredBlobStore::GetNow(const Digest& digest) {
  const std::int64_t start_ns = clock_();
  std::optional<Blob> blob = inner_->GetNow(digest);
  if (blob) {
    get_latency_.Record(clock_() - start_ns);
    ++hits_;
    get_bytes_ += blob->size();
  }
  return blob;
}

Status MeteredBlobStore::Put(const NamedBlob& blob) {
  const std::int64_t start_ns = clock_();
  Status status = inner_->Put(blob);
  put_latency_.Record(clock_() - start_ns);
  if (status.ok()) {
    ++puts_;
    put_bytes_ += blob.blob().size();
  } else {
    ++put_errors_;
  }
  return status;
}

Status MeteredBlobStore::Delete(const Digest& digest) {
  Status status = inner_->Delete(digest);
  if (status.ok()) ++deletes_;
  return status;
}

Status MeteredBlobStore::Quarantine(const Digest& digest, std::string_view reason) {
  Status status = inner_->Quarantine(digest, reason);
  if (status.ok()) ++quarantines_;
  return status;
}

StoreMetrics MeteredBlobStore::metrics() const {
  return {.hits = hits_,
          .misses = misses_,
          .get_errors = get_errors_,
          .get_bytes = get_bytes_,
          .puts = puts_,
          .put_errors = put_errors_,
          .put_bytes = put_bytes_,
          .deletes = deletes_,
          .quarantines = quarantines_,
          .get_latency = get_latency_.snapshot(),
          .put_latency = put_latency_.snapshot()};
}

}  // namespace stoker
