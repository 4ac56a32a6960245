// ArtifactSigner: signs artifacts with the keys of a ring, and knows its own signatures again.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>

#include "daemon/signing/key_ring.h"
#include "protocol/base/digest.h"
#include "protocol/base/result.h"

namespace stoker {

enum class SignatureState {
  kCurrent,  // By every key that signs now.
  kRetired,  // By a key of ours, but not by all that sign now: to be signed anew.
  kForeign,  // By none of ours, or not at all.
};

class ArtifactSigner {
 public:
  // Signatures that fitted once are not looked at again, for so many artifacts.
  static constexpr std::size_t kMaxRemembered = std::size_t{1} << 16;

  // The ring must outlive it.
  explicit ArtifactSigner(const KeyRing& ring) : ring_(ring) {}

  // With the signatures of the keys that sign now in place of those it has.
  Result<std::string> Sign(std::string_view artifact) const;

  // Of an artifact that decodes. DataLoss: a signature of ours is there and does not fit.
  Result<SignatureState> StateOf(std::string_view artifact);

 private:
  bool IsRemembered(const Digest& digest);
  void Remember(const Digest& digest);

  const KeyRing& ring_;
  std::mutex mutex_;  // Guards what follows.
  // Of an artifact's trailer, which holds the digest that decoding has compared, and of the keys
  // whose signatures in it fit.
  std::unordered_set<Digest, DigestHash> remembered_;
};

}  // namespace stoker
