#include "cache/blob_store.h"

namespace stoker {

Result<Digest> PutBytes(BlobStore& store, std::string bytes, BlobKind kind) {
  const NamedBlob blob = NamedBlob::Of(Blob(std::move(bytes), kind));
  STOKER_RETURN_IF_ERROR(store.Put(blob));
  return blob.digest();
}

}  // namespace stoker
