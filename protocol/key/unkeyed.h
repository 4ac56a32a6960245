// Unkeyed: wraps a field that is left out of every key, and says why.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

namespace stoker {

template <std::size_t N>
struct Reason {
  constexpr Reason(const char (&text)[N]) { std::copy_n(text, N, value); }  // NOLINT: implicit
  char value[N];
};

template <typename T, Reason kWhy>
struct Unkeyed {
  static constexpr std::string_view kReason = kWhy.value;
  T value;
};

}  // namespace stoker
