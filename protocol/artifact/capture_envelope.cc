#include "protocol/artifact/capture_envelope.h"

#include "protocol/base/digest.h"

namespace stoker {

std::string SealCapture(std::string_view content) {
  std::string envelope(kCaptureMagic);
  envelope += Sha256Of(content).AsBytes();
  envelope += content;
  return envelope;
}

Result<std::string_view> OpenCapture(std::string_view envelope) {
  if (envelope.size() > kMaxCaptureBytes) {
    return ResourceExhausted("A capture of " + std::to_string(envelope.size()) +
                             " bytes exceeds the limit of " + std::to_string(kMaxCaptureBytes) +
                             ".");
  }
  constexpr std::size_t kHeaderBytes = kCaptureMagic.size() + Digest::kSize;
  if (envelope.size() < kHeaderBytes || !envelope.starts_with(kCaptureMagic)) {
    return DataLoss("These " + std::to_string(envelope.size()) +
                    " bytes are no capture of version 1.");
  }
  const std::string_view content = envelope.substr(kHeaderBytes);
  const Digest actual = Sha256Of(content);
  if (actual.AsBytes() != envelope.substr(kCaptureMagic.size(), Digest::kSize)) {
    return DataLoss("A capture's content has digest " + actual.ToHex() +
                    ", not the one in its envelope.");
  }
  return content;
}

}  // namespace stoker
