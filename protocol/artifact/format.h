// What encoder and decoder of artifacts agree on. README.md describes the format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stoker {

inline constexpr std::string_view kArtifactMagic = "STKA";
inline constexpr std::uint32_t kArtifactVersion = 6;
inline constexpr std::size_t kArtifactHeaderBytes = 8;  // Magic and version.

inline constexpr std::uint8_t kConstantDim = 0;    // An I64.
inline constexpr std::uint8_t kExpressionDim = 1;  // SymDim text.

inline constexpr std::uint8_t kLaunchStep = 0;
inline constexpr std::uint8_t kHostCallStep = 1;
inline constexpr std::uint8_t kLibraryCallStep = 2;

inline constexpr std::uint8_t kMatmulOperation = 0;  // Of a library call.
// What a matmul has, bit by bit.
inline constexpr std::uint8_t kMatmulAByColumns = 1;
inline constexpr std::uint8_t kMatmulBByColumns = 2;
inline constexpr std::uint8_t kMatmulHasC = 4;
inline constexpr std::uint8_t kMatmulHasBias = 8;
inline constexpr std::uint8_t kMatmulFlags = 15;

inline constexpr std::uint64_t kMaxDimTextBytes = 4096;
inline constexpr std::uint64_t kMaxArtifactTextBytes = 4096;  // Names, labels, target, epoch.

}  // namespace stoker
