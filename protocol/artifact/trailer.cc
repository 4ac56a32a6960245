#include "protocol/artifact/trailer.h"

#include "protocol/artifact/format.h"
#include "protocol/base/bytes.h"

namespace stoker {
namespace {

constexpr std::size_t kSignatureBytes = PublicKey::kSize + Signature::kSize;
constexpr std::size_t kCountBytes = 4;

}  // namespace

Result<Trailer> TrailerOf(std::string_view artifact) {
  constexpr std::size_t kLeast = kArtifactHeaderBytes + Digest::kSize + kCountBytes;
  if (artifact.size() < kLeast) {
    return DataLoss("Field 'digest' is cut off: the artifact has " +
                    std::to_string(artifact.size()) + " bytes.");
  }
  ByteReader end(artifact.substr(artifact.size() - kCountBytes));
  STOKER_TRY(const std::uint32_t count, end.U32("signatures"));
  if (count > kMaxArtifactSignatures || artifact.size() - kLeast < count * kSignatureBytes) {
    return DataLoss("Field 'signatures' announces " + std::to_string(count) +
                    " signatures that are not there.");
  }
  Trailer trailer;
  const std::size_t trailer_bytes = Digest::kSize + count * kSignatureBytes + kCountBytes;
  trailer.signed_bytes = artifact.substr(0, artifact.size() - trailer_bytes);
  ByteReader in(artifact.substr(trailer.signed_bytes.size()));
  STOKER_TRY(const std::string_view digest, in.Raw("digest", Digest::kSize));
  STOKER_TRY(trailer.digest, Digest::FromBytes(digest));
  trailer.signatures.resize(count);
  for (ArtifactSignature& each : trailer.signatures) {
    STOKER_TRY(const std::string_view signer, in.Raw("signatures", PublicKey::kSize));
    STOKER_TRY(const std::string_view signature, in.Raw("signatures", Signature::kSize));
    STOKER_TRY(each.signer, PublicKey::FromBytes(signer));
    STOKER_TRY(each.signature, Signature::FromBytes(signature));
  }
  return trailer;
}

}  // namespace stoker
