#include "daemon/signing/artifact_signer.h"

#include <algorithm>
#include <vector>

#include "protocol/artifact/artifact_signature.h"
#include "protocol/artifact/trailer.h"

namespace stoker {
namespace {

bool Holds(const std::vector<PublicKey>& keys, const PublicKey& key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

}  // namespace

Result<std::string> ArtifactSigner::Sign(std::string_view artifact) const {
  return SignArtifact(artifact, ring_.keys()->signing);
}

Result<SignatureState> ArtifactSigner::StateOf(std::string_view artifact) {
  STOKER_TRY(const Trailer trailer, TrailerOf(artifact));
  const auto keys = ring_.keys();
  const std::vector<PublicKey> signing = keys->Announced();
  std::vector<PublicKey> ours;  // Who signed it.
  for (const ArtifactSignature& each : trailer.signatures) {
    if (Holds(signing, each.signer) || Holds(keys->retired, each.signer)) {
      ours.push_back(each.signer);
    }
  }
  if (ours.empty()) return SignatureState::kForeign;

  std::string looked_at(artifact.substr(trailer.signed_bytes.size()));
  for (const PublicKey& signer : ours) looked_at += signer.AsBytes();
  const Digest name = Sha256Of(looked_at);
  if (!IsRemembered(name)) {
    for (const PublicKey& signer : ours) {
      STOKER_RETURN_IF_ERROR(VerifyArtifact(artifact, {&signer, 1}));
    }
    Remember(name);
  }
  const bool by_all = std::all_of(signing.begin(), signing.end(),
                                  [&](const PublicKey& key) { return Holds(ours, key); });
  return by_all ? SignatureState::kCurrent : SignatureState::kRetired;
}

bool ArtifactSigner::IsRemembered(const Digest& digest) {
  const std::lock_guard lock(mutex_);
  return remembered_.contains(digest);
}

void ArtifactSigner::Remember(const Digest& digest) {
  const std::lock_guard lock(mutex_);
  if (remembered_.size() == kMaxRemembered) remembered_.clear();
  remembered_.insert(digest);
}

}  // namespace stoker
