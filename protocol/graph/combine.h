// How two elements become one: the kinds of reduce, reduce_window, cumulative and scatter.
// Private to protocol/graph.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

#include "protocol/base/dtype.h"

namespace stoker {

enum class Combine { kAssign, kAdd, kMultiply, kMaximum, kMinimum, kAnd, kOr };

// `kind` is one that the verifier accepts.
Combine ParseCombine(std::string_view kind);

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

// What combines with any element of the dtype to that element.
double FloatIdentity(Combine combine);
std::int64_t IntIdentity(Combine combine, DType dtype);
template <typename T>
T IdentityOf(Combine combine, DType dtype) {
  if constexpr (std::is_same_v<T, double>) {
    return FloatIdentity(combine);
  } else {
    return IntIdentity(combine, dtype);
  }
}

template <typename T>
T Apply(Combine combine, T a, T b) {
  switch (combine) {
    case Combine::kAssign:
      return b;
    case Combine::kAdd:
      return WrapAdd(a, b);
    case Combine::kMultiply:
      return WrapMultiply(a, b);
    case Combine::kMaximum:
      return MaximumOf(a, b);
    case Combine::kMinimum:
      return MinimumOf(a, b);
    case Combine::kAnd:
      return a != 0 && b != 0 ? 1 : 0;
    case Combine::kOr:
      return a != 0 || b != 0 ? 1 : 0;
  }
  return b;
}

}  // namespace stoker
