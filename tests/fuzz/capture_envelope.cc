// Envelopes of captures. An input is an envelope without its digest, which is made to fit, since
// damage that the digest shows never gets further. What opens is what was put in, and what is
// signed seals to the same.
#include "protocol/artifact/capture_envelope.h"

#include <algorithm>

#include "protocol/base/check.h"
#include "tests/fuzz/fuzz_target.h"

namespace stoker::fuzz {
namespace {

constexpr std::size_t kHeaderBytes = PublicKey::kSize + Signature::kSize;

const SigningKey& Writer() {
  static const auto* writer =
      new SigningKey(SigningKey::FromSeed(std::string(SigningKey::kSeedSize, 'w')).value());
  return *writer;
}

// Behind magic and digest.
std::string Unsealed(const std::string& envelope) {
  return envelope.substr(kCaptureMagic.size() + Digest::kSize);
}

}  // namespace

std::vector<std::string> Seeds() {
  return {Unsealed(SealCapture(Digest(), "{}", Writer())),
          Unsealed(SealCapture(Digest(), "", Writer()))};
}

void TryInput(std::string_view bytes) {
  (void)OpenCapture(bytes);
  std::string envelope(kCaptureMagic);
  const std::string_view content = bytes.substr(std::min(bytes.size(), kHeaderBytes));
  envelope += Sha256Of(content).AsBytes();
  envelope += bytes;
  const auto opened = OpenCapture(envelope);
  STOKER_CHECK(opened.ok() == (bytes.size() >= kHeaderBytes));
  if (!opened.ok()) return;
  STOKER_CHECK(opened->content == content);
  if (opened->writer != Writer().public_key() || !IsSignedFor(Digest(), *opened)) return;
  STOKER_CHECK(envelope == SealCapture(Digest(), content, Writer()));
}

}  // namespace stoker::fuzz
