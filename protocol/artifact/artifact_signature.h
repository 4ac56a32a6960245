// Signatures of artifacts: a daemon vouches that it compiled this one for the request that it
// names. They cover everything but the trailer: request key, guards, plan, and with their digests
// kernels and constants.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/base/result.h"
#include "protocol/base/signature/signature.h"

namespace stoker {

// A daemon signs with two keys while one takes the place of the other.
inline constexpr std::size_t kMaxArtifactSignatures = 4;

struct ArtifactSignature {
  PublicKey signer;
  Signature signature;
};

// The artifact with the signatures of these keys (1 to kMaxArtifactSignatures) in place of those
// that it has. DataLoss: it is no artifact.
Result<std::string> SignArtifact(std::string_view artifact, std::span<const SigningKey> keys);

// Those that it has; they have not been looked at. DataLoss: it is no artifact.
Result<std::vector<ArtifactSignature>> SignaturesOf(std::string_view artifact);

// The first of `trusted` whose signature is there and fits. FailedPrecondition names who signed
// otherwise; DataLoss: one of `trusted` signed other bytes.
Result<PublicKey> VerifyArtifact(std::string_view artifact, std::span<const PublicKey> trusted);

}  // namespace stoker
