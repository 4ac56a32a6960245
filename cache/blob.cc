#include "cache/blob.h"

#include <algorithm>

namespace stoker {

std::string_view BlobKindName(BlobKind kind) {
  switch (kind) {
    case BlobKind::kOther:
      return "other";
    case BlobKind::kGraph:
      return "graph";
    case BlobKind::kArtifact:
      return "artifact";
    case BlobKind::kKernel:
      return "kernel";
    case BlobKind::kConstant:
      return "constant";
    case BlobKind::kCapture:
      return "capture";
  }
  return "unknown";
}

Result<BlobKind> BlobKindFromNumber(std::uint8_t number) {
  const auto kind = static_cast<BlobKind>(number);
  if (std::find(kBlobKinds.begin(), kBlobKinds.end(), kind) == kBlobKinds.end()) {
    return DataLoss("Blob kind " + std::to_string(number) + " is not one of the " +
                    std::to_string(kBlobKinds.size()) + " known kinds.");
  }
  return kind;
}

NamedBlob NamedBlob::Of(Blob blob) {
  const Digest digest = Sha256Of(blob.bytes());
  return NamedBlob(digest, std::move(blob));
}

Result<NamedBlob> NamedBlob::Verify(const Digest& digest, Blob blob) {
  NamedBlob named = Of(std::move(blob));
  if (named.digest() != digest) {
    return DataLoss("The " + std::to_string(named.blob().size()) + " bytes named " +
                    digest.ToHex() + " have the SHA-256 " + named.digest().ToHex() + ".");
  }
  return named;
}

}  // namespace stoker
