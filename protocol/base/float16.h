// Conversions between f32 and the 16-bit float types, round to nearest even (IEEE 754-2019;
// bfloat16 as the upper half of binary32). NaN stays NaN, quiet.
#pragma once

#include <bit>
#include <cstdint>

namespace stoker {

inline float FloatFromBF16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

inline std::uint16_t BF16FromFloat(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if (value != value) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  const std::uint32_t rounding = 0x7fffU + ((bits >> 16) & 1U);
  return static_cast<std::uint16_t>((bits + rounding) >> 16);
}

float FloatFromF16(std::uint16_t bits);
std::uint16_t F16FromFloat(float value);

}  // namespace stoker
