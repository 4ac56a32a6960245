// Named limits of the wire. Decoding refuses what is beyond them with ResourceExhausted and the
// name of the field.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stoker::wire {

// The version in Hello: a peer with another one is refused.
inline constexpr std::uint32_t kProtocolVersion = 3;

inline constexpr std::size_t kMaxMessageBytes = std::size_t{512} << 20;  // One message or frame.
// A client sends a longer body so that it can go on where the connection breaks (WIRE.md).
inline constexpr std::size_t kLongBodyBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMaxGraphBytes = std::size_t{256} << 20;
inline constexpr std::size_t kMaxArtifactBytes = std::size_t{64} << 20;
inline constexpr std::size_t kMaxNameBytes = 4096;  // Graph names, labels, stages, tags.
inline constexpr std::size_t kMaxTextBytes = std::size_t{64} << 20;  // A section of inspect.
inline constexpr std::size_t kMaxDigests = 1U << 17;  // have_kernels, kernel queries.
inline constexpr std::size_t kMaxKeyFields = 256;
inline constexpr std::size_t kMaxShortList = 64;       // Section names, target kinds.
inline constexpr std::size_t kMaxSections = 4096;      // Of one inspection.
inline constexpr std::size_t kMaxCounters = 4096;      // Of one report, per map.
inline constexpr std::size_t kMaxSpans = 8192;         // Of one compile.
inline constexpr std::size_t kMaxCapturesPerKey = 32;  // Of one writer; of one answer.
inline constexpr std::size_t kMaxWriters = 65;         // Of one query: the own one, and a list.
inline constexpr std::size_t kMaxSigningKeys = 8;      // Of one daemon.
inline constexpr std::size_t kMaxCaptureFieldBytes = 64 * 1024;  // A field of a capture key.
inline constexpr std::size_t kMaxCaptureReasonBytes = 128;
inline constexpr std::size_t kMaxUpkeepCounts = 64;
inline constexpr std::size_t kMaxPins = 16384;
inline constexpr double kMaxAgeSeconds = 3.2e9;  // A century.
inline constexpr std::uint32_t kMaxListEntries = 100000;

}  // namespace stoker::wire
