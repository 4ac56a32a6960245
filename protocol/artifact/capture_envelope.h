// The envelope of a capture: what the daemon knows of one. Its content is the frontend's own, and
// is code: the envelope says who wrote it.
//
// "stokcap2", the SHA-256 of the content, the writer's public key, the writer's signature, the
// content. The signature covers the capture key, so that a capture is none under another one. The
// digit is the envelope's version; version 1 was not signed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "protocol/base/digest.h"
#include "protocol/base/result.h"
#include "protocol/base/signature/signature.h"

namespace stoker {

inline constexpr std::string_view kCaptureMagic = "stokcap2";
inline constexpr std::size_t kMaxCaptureBytes = std::size_t{64} << 20;

struct OpenedCapture {
  std::string_view content;  // Into the envelope.
  Digest digest;             // Of the content, which it fits.
  PublicKey writer;          // Who is said to have written it: IsSignedFor tells.
  Signature signature;
};

std::string SealCapture(const Digest& capture_key, std::string_view content,
                        const SigningKey& writer);

// DataLoss: it is no envelope, or damaged. Unimplemented: it is of another version.
// ResourceExhausted: it exceeds kMaxCaptureBytes.
Result<OpenedCapture> OpenCapture(std::string_view envelope);

// Whether its writer signed it for this key.
bool IsSignedFor(const Digest& capture_key, const OpenedCapture& capture);

// The index key under which a daemon lists one writer's captures of a capture key.
Digest CaptureListKey(const Digest& capture_key, const PublicKey& writer);

// What a writer signs to have one of their captures dropped.
std::string CaptureDropText(std::string_view name_space, const Digest& capture_key,
                            const Digest& envelope);

}  // namespace stoker
