// Every one of the 65,536 patterns of both formats, against arithmetic on their fields.
#include "protocol/base/float16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace stoker {
namespace {

struct Format {
  int exponent_bits;
  int fraction_bits;
};
constexpr Format kF16{5, 10};
constexpr Format kBF16{8, 7};

// The value of a pattern by the definition of IEEE 754-2019, section 3.4.
double ValueOf(Format format, std::uint32_t bits) {
  const std::uint32_t fraction = bits & ((1U << format.fraction_bits) - 1);
  const std::uint32_t max_exponent = (1U << format.exponent_bits) - 1;
  const std::uint32_t exponent = (bits >> format.fraction_bits) & max_exponent;
  const int bias = static_cast<int>(max_exponent >> 1);
  const double sign = (bits >> 15) != 0 ? -1.0 : 1.0;
  if (exponent == max_exponent) {
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  const std::uint32_t significand =
      exponent == 0 ? fraction : fraction | 1U << format.fraction_bits;
  const int scale = (exponent == 0 ? 1 : static_cast<int>(exponent)) - bias - format.fraction_bits;
  return sign * std::ldexp(significand, scale);
}

template <typename ToFloat, typename FromFloat>
void ExpectEveryPatternRoundTrips(Format format, ToFloat to_float, FromFloat from_float) {
  for (std::uint32_t bits = 0; bits <= 0xffffU; ++bits) {
    const auto pattern = static_cast<std::uint16_t>(bits);
    const double expected = ValueOf(format, bits);
    const float value = to_float(pattern);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      const std::uint16_t back = from_float(value);
      ASSERT_TRUE(std::isnan(ValueOf(format, back))) << bits;
      ASSERT_NE(back & (1U << (format.fraction_bits - 1)), 0U) << "signaling: " << bits;
    } else {
      ASSERT_EQ(static_cast<double>(value), expected) << bits;
      ASSERT_EQ(std::signbit(value), std::signbit(expected)) << bits;
      ASSERT_EQ(from_float(value), pattern) << bits;
    }
  }
}

// Between each two neighbours of one sign: below, at and above the middle.
template <typename FromFloat>
void ExpectNearestEven(Format format, FromFloat from_float) {
  const std::uint32_t infinity = ((1U << format.exponent_bits) - 1) << format.fraction_bits;
  for (const std::uint32_t sign : {0U, 0x8000U}) {
    for (std::uint32_t bits = 0; bits + 1 < infinity; ++bits) {
      const double low = ValueOf(format, sign | bits);
      const double high = ValueOf(format, sign | (bits + 1));
      const auto middle = static_cast<float>((low + high) / 2);
      ASSERT_EQ(static_cast<double>(middle), (low + high) / 2) << "not exact in f32: " << bits;
      const std::uint32_t even = bits % 2 == 0 ? bits : bits + 1;
      ASSERT_EQ(from_float(middle), sign | even) << bits;
      ASSERT_EQ(from_float(std::nextafter(middle, static_cast<float>(low))), sign | bits) << bits;
      ASSERT_EQ(from_float(std::nextafter(middle, static_cast<float>(high))), sign | (bits + 1))
          << bits;
    }
  }
}

TEST(Float16, F16_EveryPattern_ValueAndRoundTrip) {
  ExpectEveryPatternRoundTrips(kF16, FloatFromF16, F16FromFloat);
}

TEST(Float16, BF16_EveryPattern_ValueAndRoundTrip) {
  ExpectEveryPatternRoundTrips(kBF16, FloatFromBF16, BF16FromFloat);
}

TEST(Float16, F16FromFloat_BetweenNeighbours_NearestEven) { ExpectNearestEven(kF16, F16FromFloat); }

TEST(Float16, BF16FromFloat_BetweenNeighbours_NearestEven) {
  ExpectNearestEven(kBF16, BF16FromFloat);
}

TEST(Float16, FromFloat_BeyondLargest_RoundsToInfinityFromTheMiddle) {
  EXPECT_EQ(F16FromFloat(65519.996F), 0x7bffU);
  EXPECT_EQ(F16FromFloat(65520.0F), 0x7c00U);
  EXPECT_EQ(F16FromFloat(-1e30F), 0xfc00U);
  const float largest = std::numeric_limits<float>::max();
  EXPECT_EQ(BF16FromFloat(largest), 0x7f80U);
  EXPECT_EQ(BF16FromFloat(-largest), 0xff80U);
}

}  // namespace
}  // namespace stoker
