#include "protocol/artifact/artifact_signature.h"

#include <algorithm>

#include "protocol/artifact/trailer.h"
#include "protocol/base/bytes.h"
#include "protocol/base/check.h"
#include "protocol/base/signature/public_key_list.h"

namespace stoker {
namespace {

constexpr std::string_view kContext = "stoker artifact 1";

// Of the bytes themselves, not of the digest that stands behind them.
std::string MessageOf(const Trailer& trailer) {
  return InContext(kContext, Sha256Of(trailer.signed_bytes).AsBytes());
}

}  // namespace

Result<std::string> SignArtifact(std::string_view artifact, std::span<const SigningKey> keys) {
  STOKER_CHECK(!keys.empty() && keys.size() <= kMaxArtifactSignatures);
  STOKER_TRY(const Trailer trailer, TrailerOf(artifact));
  const std::string message = MessageOf(trailer);
  ByteWriter out;
  out.Raw(artifact.substr(0, trailer.signed_bytes.size() + Digest::kSize));
  for (const SigningKey& key : keys) {
    out.Raw(key.public_key().AsBytes());
    out.Raw(key.Sign(message).AsBytes());
  }
  out.U32(static_cast<std::uint32_t>(keys.size()));
  return std::move(out).Take();
}

Result<std::vector<ArtifactSignature>> SignaturesOf(std::string_view artifact) {
  STOKER_TRY(Trailer trailer, TrailerOf(artifact));
  return std::move(trailer.signatures);
}

Result<PublicKey> VerifyArtifact(std::string_view artifact, std::span<const PublicKey> trusted) {
  STOKER_TRY(const Trailer trailer, TrailerOf(artifact));
  const std::string message = MessageOf(trailer);
  std::vector<PublicKey> signers;
  std::vector<PublicKey> misfits;
  for (const auto& [signer, signature] : trailer.signatures) {
    signers.push_back(signer);
    if (std::find(trusted.begin(), trusted.end(), signer) == trusted.end()) continue;
    if (Verify(signer, message, signature)) return signer;
    misfits.push_back(signer);
  }
  if (!misfits.empty()) {
    return DataLoss("The artifact's signature by " + ListOf(misfits) + " does not fit.");
  }
  return FailedPrecondition("The artifact is " +
                            (signers.empty() ? "not signed" : "signed by " + ListOf(signers)) +
                            "; trusted is " + ListOf(trusted) + ".");
}

}  // namespace stoker
