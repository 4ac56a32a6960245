#include "protocol/graph/elements.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace stoker {
namespace {

double FromBits(DType dtype, std::uint16_t bits) {
  char bytes[2];
  std::memcpy(bytes, &bits, sizeof bits);
  return ReadFloatElement(dtype, bytes);
}

std::uint16_t ToBits(DType dtype, double value) {
  char bytes[2];
  WriteFloatElement(dtype, value, bytes);
  std::uint16_t bits;
  std::memcpy(&bits, bytes, sizeof bits);
  return bits;
}

// Around the middle between each two neighbors: rounding through f32 first would get the values
// just beside it wrong.
TEST(Elements, SixteenBitFloats_AroundEveryMidpoint_RoundOnce) {
  for (const auto& [dtype, infinity] : {std::pair<DType, std::uint16_t>{DType::kF16, 0x7c00},
                                        std::pair<DType, std::uint16_t>{DType::kBF16, 0x7f80}}) {
    for (std::uint16_t bits = 0; bits + 1 < infinity; ++bits) {
      const double low = FromBits(dtype, bits);
      const double high = FromBits(dtype, static_cast<std::uint16_t>(bits + 1));
      const double middle = (low + high) / 2;
      const auto above = static_cast<std::uint16_t>(bits + 1);
      const auto even = static_cast<std::uint16_t>(bits + (bits & 1));
      ASSERT_EQ(ToBits(dtype, low), bits);
      ASSERT_EQ(ToBits(dtype, middle), even) << bits;
      ASSERT_EQ(ToBits(dtype, std::nextafter(middle, high)), above) << bits;
      ASSERT_EQ(ToBits(dtype, std::nextafter(middle, low)), bits) << bits;
      ASSERT_EQ(ToBits(dtype, -std::nextafter(middle, high)), above | 0x8000) << bits;
    }
    EXPECT_EQ(ToBits(dtype, std::numeric_limits<double>::max()), infinity);
    EXPECT_EQ(ToBits(dtype, 1e-300), 0);
    EXPECT_TRUE(std::isnan(FromBits(dtype, ToBits(dtype, std::nan("")))));
  }
}

TEST(Elements, FloatToInt_BeyondRange_IsAsOnX86) {
  const double infinity = std::numeric_limits<double>::infinity();
  const struct {
    DType dtype;
    double value;
    std::int64_t expected;
  } rows[] = {
      {DType::kI64, 0x1p63, INT64_MIN},
      {DType::kI64, -0x1p63, INT64_MIN},
      {DType::kI64, infinity, INT64_MIN},
      {DType::kI64, std::nan(""), INT64_MIN},
      {DType::kI32, 2147483647.9, 2147483647},
      {DType::kI32, 2147483648.0, INT32_MIN},
      {DType::kI32, -2147483648.9, INT32_MIN},
      {DType::kI32, std::nan(""), INT32_MIN},
      {DType::kI16, 65537, 1},
      {DType::kI16, 0x1p31 + 5, 0},
      {DType::kI8, 127.9, 127},
      {DType::kI8, -128.9, -128},
      {DType::kI8, -129, 127},
      {DType::kI8, infinity, 0},
      {DType::kU8, -0.9, 0},
      {DType::kU8, -1, 255},
      {DType::kU8, 255.9, 255},
      {DType::kU8, 256, 0},
      {DType::kU8, 0x1p31 + 5, 5},
      {DType::kBool, 0.1, 1},
      {DType::kBool, -0.0, 0},
      {DType::kBool, std::nan(""), 1},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(FloatToInt(row.dtype, row.value), row.expected)
        << Name(row.dtype) << " of " << row.value;
  }
}

TEST(Elements, ElementBytes_OfWhatIsNoSuchNumber_IsTheNearest) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(ReadIntElement(DType::kI8, ElementBytes(DType::kI8, 300).data()), 127);
  EXPECT_EQ(ReadIntElement(DType::kU8, ElementBytes(DType::kU8, -1).data()), 0);
  EXPECT_EQ(ReadIntElement(DType::kI64, ElementBytes(DType::kI64, infinity).data()), INT64_MAX);
  EXPECT_EQ(ReadIntElement(DType::kI16, ElementBytes(DType::kI16, -infinity).data()), -32768);
  EXPECT_EQ(ReadIntElement(DType::kI32, ElementBytes(DType::kI32, std::nan("")).data()), 0);
}

TEST(Elements, WrapToDType_KeepsLowBits) {
  EXPECT_EQ(WrapToDType(DType::kI8, 200), -56);
  EXPECT_EQ(WrapToDType(DType::kU8, -1), 255);
  EXPECT_EQ(WrapToDType(DType::kI32, (INT64_C(1) << 32) + 5), 5);
  EXPECT_EQ(WrapToDType(DType::kBool, 256), 1);
  EXPECT_EQ(WrapToDType(DType::kI64, INT64_MIN), INT64_MIN);
}

}  // namespace
}  // namespace stoker
