#include "cache/memory/memory_blob_store.h"

namespace stoker {

MemoryBlobStore::MemoryBlobStore(const Watermarks& watermarks, UnixClock clock)
    : clock_(std::move(clock)), ledger_(watermarks) {}

Result<Blob> MemoryBlobStore::Get(const Digest& digest) {
  if (auto found = GetNow(digest)) return *std::move(found);
  return NotFound("Blob " + digest.ToHex() + " is not in memory.");
}

std::optional<Blob> MemoryBlobStore::GetNow(const Digest& digest) {
  const std::lock_guard lock(mutex_);
  const auto found = blobs_.find(digest);
  if (found == blobs_.end()) return std::nullopt;
  ledger_.Touch(digest, clock_());
  return found->second;
}

Status MemoryBlobStore::Put(const NamedBlob& blob) {
  const std::lock_guard lock(mutex_);
  if (ledger_.Touch(blob.digest(), clock_())) return Ok();
  STOKER_TRY(const auto leaving, ledger_.MakeRoom(blob.blob().size()));
  for (const BlobEntry& entry : leaving) blobs_.erase(entry.digest);
  ledger_.Add({.digest = blob.digest(),
               .kind = blob.blob().kind(),
               .bytes = blob.blob().size(),
               .accessed_unix_ns = ledger_.NextAccess(clock_())});
  blobs_.emplace(blob.digest(), blob.blob());
  return Ok();
}

Result<bool> MemoryBlobStore::Contains(const Digest& digest) {
  const std::lock_guard lock(mutex_);
  return blobs_.contains(digest);
}

void MemoryBlobStore::Touch(std::span<const Digest> digests) {
  const std::lock_guard lock(mutex_);
  for (const Digest& digest : digests) ledger_.Touch(digest, clock_());
}

Status MemoryBlobStore::Delete(const Digest& digest) {
  const std::lock_guard lock(mutex_);
  if (blobs_.contains(digest) && ledger_.IsPinned(digest)) {
    return FailedPrecondition("Blob " + digest.ToHex() + " is pinned.");
  }
  return RemoveLocked(digest);
}

Status MemoryBlobStore::Quarantine(const Digest& digest, std::string_view /*reason*/) {
  const std::lock_guard lock(mutex_);
  return RemoveLocked(digest);
}

Status MemoryBlobStore::Visit(const std::function<bool(const BlobEntry&)>& visit) {
  std::vector<BlobEntry> entries;
  {
    const std::lock_guard lock(mutex_);
    entries = ledger_.Entries();
  }
  for (const BlobEntry& entry : entries) {
    if (!visit(entry)) break;
  }
  return Ok();
}

void MemoryBlobStore::Pin(const Digest& digest) {
  const std::lock_guard lock(mutex_);
  ledger_.Pin(digest);
}

void MemoryBlobStore::Unpin(const Digest& digest) {
  const std::lock_guard lock(mutex_);
  ledger_.Unpin(digest);
}

LedgerUsage MemoryBlobStore::usage() const {
  const std::lock_guard lock(mutex_);
  return ledger_.usage();
}

Status MemoryBlobStore::RemoveLocked(const Digest& digest) {
  if (!ledger_.Remove(digest)) return NotFound("Blob " + digest.ToHex() + " is not in memory.");
  blobs_.erase(digest);
  return Ok();
}

}  // namespace stoker
