#include "protocol/graph/elements.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "protocol/base/check.h"
#include "protocol/base/float16.h"

namespace stoker {
namespace {

template <typename T>
T Load(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

template <typename T>
void Store(T value, char* bytes) {
  std::memcpy(bytes, &value, sizeof value);
}

// Rounds to odd: a later rounding to 16 bits then gives what one rounding from double would.
float ToFloatRoundingToOdd(double value) {
  float rounded = static_cast<float>(value);
  if (std::isnan(value) || static_cast<double>(rounded) == value) return rounded;
  if (std::fabs(static_cast<double>(rounded)) > std::fabs(value)) {
    rounded = std::nextafter(rounded, 0.0F);
  }
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(rounded) | 1U);
}

std::int64_t NearestInt(DType to, double value) {
  STOKER_CHECK(!IsFloat(to));
  if (to == DType::kBool) return value != 0 ? 1 : 0;
  if (std::isnan(value)) return 0;
  const bool is_signed = to != DType::kU8;
  const int digits = 8 * SizeInBytes(to) - (is_signed ? 1 : 0);
  const std::int64_t highest = INT64_MAX >> (63 - digits);
  const std::int64_t lowest = is_signed ? -highest - 1 : 0;
  value = std::trunc(value);
  // 2^63 - 1 is not a double: compare with the power of two above the highest.
  if (value >= std::ldexp(1.0, digits)) return highest;
  if (value <= static_cast<double>(lowest)) return lowest;
  return static_cast<std::int64_t>(value);
}

}  // namespace

double ReadFloatElement(DType dtype, const char* bytes) {
  switch (dtype) {
    case DType::kF64:
      return Load<double>(bytes);
    case DType::kF32:
      return static_cast<double>(Load<float>(bytes));
    case DType::kF16:
      return static_cast<double>(FloatFromF16(Load<std::uint16_t>(bytes)));
    case DType::kBF16:
      return static_cast<double>(FloatFromBF16(Load<std::uint16_t>(bytes)));
    case DType::kI64:
    case DType::kI32:
    case DType::kI16:
    case DType::kI8:
    case DType::kU8:
    case DType::kBool:
      break;
  }
  STOKER_CHECK(IsFloat(dtype));
  return 0;
}

void WriteFloatElement(DType dtype, double value, char* bytes) {
  switch (dtype) {
    case DType::kF64:
      return Store(value, bytes);
    case DType::kF32:
      return Store(static_cast<float>(value), bytes);
    case DType::kF16:
      return Store(F16FromFloat(ToFloatRoundingToOdd(value)), bytes);
    case DType::kBF16:
      return Store(BF16FromFloat(ToFloatRoundingToOdd(value)), bytes);
    case DType::kI64:
    case DType::kI32:
    case DType::kI16:
    case DType::kI8:
    case DType::kU8:
    case DType::kBool:
      break;
  }
  STOKER_CHECK(IsFloat(dtype));
}

std::int64_t ReadIntElement(DType dtype, const char* bytes) {
  switch (dtype) {
    case DType::kI64:
      return Load<std::int64_t>(bytes);
    case DType::kI32:
      return Load<std::int32_t>(bytes);
    case DType::kI16:
      return Load<std::int16_t>(bytes);
    case DType::kI8:
      return Load<std::int8_t>(bytes);
    case DType::kU8:
      return Load<std::uint8_t>(bytes);
    case DType::kBool:
      return Load<std::uint8_t>(bytes) != 0 ? 1 : 0;
    case DType::kF64:
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
      break;
  }
  STOKER_CHECK(!IsFloat(dtype));
  return 0;
}

void WriteIntElement(DType dtype, std::int64_t value, char* bytes) {
  if (dtype == DType::kBool) value = value != 0 ? 1 : 0;
  STOKER_CHECK(!IsFloat(dtype));
  // Little-endian: the low bytes are the wrapped value.
  std::memcpy(bytes, &value, static_cast<std::size_t>(SizeInBytes(dtype)));
}

double RoundToDType(DType dtype, double value) {
  if (dtype == DType::kF64) return value;
  char bytes[8];
  WriteFloatElement(dtype, value, bytes);
  return ReadFloatElement(dtype, bytes);
}

std::int64_t WrapToDType(DType dtype, std::int64_t value) {
  if (dtype == DType::kI64) return value;
  char bytes[8];
  WriteIntElement(dtype, value, bytes);
  return ReadIntElement(dtype, bytes);
}

std::int64_t FloatToInt(DType to, double value) {
  if (to == DType::kBool) return value != 0 ? 1 : 0;
  const bool is_64 = to == DType::kI64 || to == DType::kU8;
  const double bound = is_64 ? 0x1p63 : 0x1p31;
  const std::int64_t lowest = is_64 ? INT64_MIN : INT32_MIN;
  value = std::trunc(value);
  const bool fits = value >= -bound && value < bound;  // NaN does not.
  return WrapToDType(to, fits ? static_cast<std::int64_t>(value) : lowest);
}

std::string ElementBytes(DType dtype, double value) {
  std::string bytes(static_cast<std::size_t>(SizeInBytes(dtype)), '\0');
  if (IsFloat(dtype)) {
    WriteFloatElement(dtype, value, bytes.data());
  } else {
    WriteIntElement(dtype, NearestInt(dtype, value), bytes.data());
  }
  return bytes;
}

}  // namespace stoker
