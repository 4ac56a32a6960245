// Arithmetic of the reference interpreter that C++ has no operator for. Private to protocol/graph.
#pragma once

#include <cmath>
#include <cstdint>

namespace stoker {

// A NaN wins; of two zeros of different sign, maximum takes +0 and minimum -0.
inline double MaximumOf(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return a + b;
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
inline double MinimumOf(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return a + b;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}
inline std::int64_t MaximumOf(std::int64_t a, std::int64_t b) { return a > b ? a : b; }
inline std::int64_t MinimumOf(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

// Integers wrap.
inline std::int64_t WrapAdd(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
inline std::int64_t WrapSubtract(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
inline std::int64_t WrapMultiply(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
inline double WrapAdd(double a, double b) { return a + b; }
inline double WrapMultiply(double a, double b) { return a * b; }

}  // namespace stoker
