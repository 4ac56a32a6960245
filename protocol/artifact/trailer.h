// What stands behind an artifact's body: its digest and its signatures.
#pragma once

#include <string_view>
#include <vector>

#include "protocol/artifact/artifact_signature.h"
#include "protocol/base/digest.h"
#include "protocol/base/result.h"

namespace stoker {

struct Trailer {
  std::string_view signed_bytes;  // Everything before the digest: a view into the artifact.
  Digest digest;                  // As it stands there.
  std::vector<ArtifactSignature> signatures;
};

// Reads from the end; looks at nothing before the digest. DataLoss: what is there is no trailer.
Result<Trailer> TrailerOf(std::string_view artifact);

}  // namespace stoker
