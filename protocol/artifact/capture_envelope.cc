#include "protocol/artifact/capture_envelope.h"

#include "protocol/base/bytes.h"

namespace stoker {
namespace {

constexpr std::string_view kContext = "stoker capture 1";
constexpr std::string_view kListContext = "stoker captures of a writer";
constexpr std::string_view kDropContext = "stoker capture drop 1";
constexpr std::size_t kVersionDigits = 1;

std::string MessageOf(const Digest& capture_key, const Digest& content) {
  return InContext(kContext, std::string(capture_key.AsBytes()).append(content.AsBytes()));
}

}  // namespace

std::string SealCapture(const Digest& capture_key, std::string_view content,
                        const SigningKey& writer) {
  const Digest digest = Sha256Of(content);
  std::string envelope(kCaptureMagic);
  envelope += digest.AsBytes();
  envelope += writer.public_key().AsBytes();
  envelope += writer.Sign(MessageOf(capture_key, digest)).AsBytes();
  envelope += content;
  return envelope;
}

Result<OpenedCapture> OpenCapture(std::string_view envelope) {
  if (envelope.size() > kMaxCaptureBytes) {
    return ResourceExhausted("A capture of " + std::to_string(envelope.size()) +
                             " bytes exceeds the limit of " + std::to_string(kMaxCaptureBytes) +
                             ".");
  }
  ByteReader in(envelope);
  const std::string_view magic = envelope.substr(0, kCaptureMagic.size());
  const std::string_view family = kCaptureMagic.substr(0, kCaptureMagic.size() - kVersionDigits);
  if (magic.size() < kCaptureMagic.size() || !magic.starts_with(family)) {
    return DataLoss("These " + std::to_string(envelope.size()) + " bytes are no capture.");
  }
  if (magic != kCaptureMagic) {
    return Unimplemented("A capture is of envelope '" + std::string(magic) +
                         "'; this build takes '" + std::string(kCaptureMagic) + "'.");
  }
  STOKER_RETURN_IF_ERROR(in.Raw("magic", kCaptureMagic.size()));
  OpenedCapture capture;
  STOKER_TRY(const std::string_view digest, in.Raw("digest", Digest::kSize));
  STOKER_TRY(capture.digest, Digest::FromBytes(digest));
  STOKER_TRY(const std::string_view writer, in.Raw("writer", PublicKey::kSize));
  STOKER_TRY(capture.writer, PublicKey::FromBytes(writer));
  STOKER_TRY(const std::string_view signature, in.Raw("signature", Signature::kSize));
  STOKER_TRY(capture.signature, Signature::FromBytes(signature));
  STOKER_TRY(capture.content, in.Raw("content", in.remaining()));
  const Digest actual = Sha256Of(capture.content);
  if (actual != capture.digest) {
    return DataLoss("A capture's content has digest " + actual.ToHex() +
                    ", not the one in its envelope.");
  }
  return capture;
}

bool IsSignedFor(const Digest& capture_key, const OpenedCapture& capture) {
  return Verify(capture.writer, MessageOf(capture_key, capture.digest), capture.signature);
}

Digest CaptureListKey(const Digest& capture_key, const PublicKey& writer) {
  return Sha256Of(
      InContext(kListContext, std::string(capture_key.AsBytes()).append(writer.AsBytes())));
}

std::string CaptureDropText(std::string_view name_space, const Digest& capture_key,
                            const Digest& envelope) {
  ByteWriter out;
  out.Raw(capture_key.AsBytes());
  out.Raw(envelope.AsBytes());
  out.Bytes(name_space);
  return InContext(kDropContext, out.str());
}

}  // namespace stoker
