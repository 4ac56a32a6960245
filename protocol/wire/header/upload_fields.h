// Fields of "Resumable Uploads for HTTP" (draft-ietf-httpbis-resumable-upload): a body whose
// connection breaks goes on over another one. WIRE.md says how they are used.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stoker::wire {

inline constexpr std::string_view kUploadComplete = "Upload-Complete";  // A boolean.
inline constexpr std::string_view kUploadOffset = "Upload-Offset";      // Numbers.
inline constexpr std::string_view kUploadLength = "Upload-Length";
inline constexpr std::string_view kUploadLimit = "Upload-Limit";
inline constexpr std::string_view kUploadVersion = "Upload-Draft-Interop-Version";

// Of the draft; who speaks another one is not understood.
inline constexpr std::uint64_t kSpokenUploadVersion = 8;
inline constexpr std::string_view kPartialUploadType = "application/partial-upload";

// Values as RFC 9651 writes them (3.3.6, 3.3.1), whatever parameters follow. Nothing where it is
// another value: then the field counts as if it were not there.
std::optional<bool> BooleanOf(std::string_view field);
std::optional<std::uint64_t> NumberOf(std::string_view field);

}  // namespace stoker::wire
