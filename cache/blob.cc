#include "cache/blob.h"

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
    case BlobKind::kTuning:
      return "tuning";
    case BlobKind::kCapture:
      return "capture";
  }
  return "unknown";
}

Result<BlobKind> BlobKindFromNumber(std::uint8_t number) {
  if (number >= kBlobKindCount) {
    return DataLoss("Blob kind " + std::to_string(number) + " is not one of the " +
                    std::to_string(kBlobKindCount) + " known kinds.");
  }
  return static_cast<BlobKind>(number);
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
