// Element types of tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stoker {

// The numeric values are part of the encoded formats: append, never renumber.
enum class DType : std::uint8_t {
  kF64 = 0,
  kF32 = 1,
  kF16 = 2,
  kBF16 = 3,
  kI64 = 4,
  kI32 = 5,
  kI16 = 6,
  kI8 = 7,
  kU8 = 8,
  kBool = 9,  // One byte, 0 or 1.
};
inline constexpr int kNumDTypes = 10;

int SizeInBytes(DType dtype);
std::string_view Name(DType dtype);  // "f64", "f32", "f16", "bf16", "i64", ..., "u8", "bool".
std::optional<DType> ParseDType(std::string_view name);
std::optional<DType> DTypeFromCode(std::uint8_t code);
bool IsFloat(DType dtype);
bool IsInteger(DType dtype);  // Signed or unsigned; bool is neither.

}  // namespace stoker
