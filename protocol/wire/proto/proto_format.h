// The protobuf wire format, as far as both directions need to agree on it.
#pragma once

#include <cstdint>

namespace stoker::wire {

// A field's tag is its number above these bits, which say how its value is encoded.
inline constexpr std::uint32_t kWireTypeBits = 3;
inline constexpr std::uint32_t kVarint = 0;
inline constexpr std::uint32_t kFixed64 = 1;
inline constexpr std::uint32_t kLengthPrefixed = 2;
inline constexpr std::uint32_t kFixed32 = 5;

}  // namespace stoker::wire
