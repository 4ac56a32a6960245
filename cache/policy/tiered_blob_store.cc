#include "cache/policy/tiered_blob_store.h"

namespace stoker {
namespace {

// One tier may have what the other has not.
Status EitherSucceeded(const Status& authority, const Status& other) {
  if (!authority.ok() && authority.error().code == ErrorCode::kNotFound && other.ok()) return other;
  return authority;
}

}  // namespace

TieredBlobStore::TieredBlobStore(std::unique_ptr<BlobStore> front, std::unique_ptr<BlobStore> back,
                                 Authority authority)
    : front_(std::move(front)),
      back_(std::move(back)),
      authority_(authority == Authority::kFront ? *front_ : *back_),
      other_(authority == Authority::kFront ? *back_ : *front_) {}

Result<Blob> TieredBlobStore::Get(const Digest& digest) {
  Result<Blob> blob = front_->Get(digest);
  if (blob.ok()) {
    // What is hot in front must not look cold, and be evicted, in the back.
    back_->Touch({&digest, 1});
    return blob;
  }
  return fills_.Do(digest, [&] { return Fill(digest); });
}

std::optional<Blob> TieredBlobStore::GetNow(const Digest& digest) {
  std::optional<Blob> blob = front_->GetNow(digest);
  if (blob) back_->Touch({&digest, 1});
  return blob;
}

Result<Blob> TieredBlobStore::Fill(const Digest& digest) {
  STOKER_TRY(Blob blob, back_->Get(digest));
  const Result<NamedBlob> named = NamedBlob::Verify(digest, std::move(blob));
  if (!named.ok()) {
    // Its failure changes nothing here: the bytes are refused either way.
    (void)back_->Quarantine(digest, named.error().message);
    return NotFound("Blob " + digest.ToHex() + " is damaged: " + named.error().message);
  }
  // A front without room costs speed, not the answer.
  (void)front_->Put(*named);
  return named->blob();
}

Status TieredBlobStore::Put(const NamedBlob& blob) {
  STOKER_RETURN_IF_ERROR(authority_.Put(blob));
  (void)other_.Put(blob);
  return Ok();
}

Result<bool> TieredBlobStore::Contains(const Digest& digest) {
  const Result<bool> front = front_->Contains(digest);
  if (front.ok() && *front) return true;
  return back_->Contains(digest);
}

void TieredBlobStore::Touch(std::span<const Digest> digests) {
  front_->Touch(digests);
  back_->Touch(digests);
}

Status TieredBlobStore::Delete(const Digest& digest) {
  const Status authority = authority_.Delete(digest);
  // Pinned: the blob stays everywhere.
  if (!authority.ok() && authority.error().code != ErrorCode::kNotFound) return authority;
  return EitherSucceeded(authority, other_.Delete(digest));
}

Status TieredBlobStore::Quarantine(const Digest& digest, std::string_view reason) {
  const Status authority = authority_.Quarantine(digest, reason);
  return EitherSucceeded(authority, other_.Quarantine(digest, reason));
}

Status TieredBlobStore::Visit(const std::function<bool(const BlobEntry&)>& visit) {
  return authority_.Visit(visit);
}

void TieredBlobStore::Pin(const Digest& digest) {
  front_->Pin(digest);
  back_->Pin(digest);
}

void TieredBlobStore::Unpin(const Digest& digest) {
  front_->Unpin(digest);
  back_->Unpin(digest);
}

Status TieredBlobStore::Sync() { return authority_.Sync(); }

}  // namespace stoker
