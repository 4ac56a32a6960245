// The envelope of a capture: what the daemon knows of one. Its content is the frontend's own.
//
// "stokcap1", the SHA-256 of the rest, the rest. The digit is the envelope's version; a signature
// will stand in a later one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "protocol/base/result.h"

namespace stoker {

inline constexpr std::string_view kCaptureMagic = "stokcap1";
inline constexpr std::size_t kMaxCaptureBytes = std::size_t{64} << 20;

std::string SealCapture(std::string_view content);

// The content, a view into `envelope`. DataLoss: it is no envelope, of another version, or damaged.
// ResourceExhausted: it exceeds kMaxCaptureBytes.
Result<std::string_view> OpenCapture(std::string_view envelope);

}  // namespace stoker
