// Arithmetic on extents, of which some are known when a kernel runs only.
#pragma once

#include <cstdint>
#include <optional>

#include "protocol/graph/dim/sym_dim.h"

namespace stoker::cpu {

// What symbolic extents are taken to be where only speed depends on it.
constexpr std::int64_t kTypicalExtent = 128;

inline std::optional<std::int64_t> ConstantOf(const SymDim& dim) {
  if (!dim.IsConstant()) return std::nullopt;
  return dim.constant();
}
inline std::int64_t Typical(const SymDim& dim) { return ConstantOf(dim).value_or(kTypicalExtent); }
inline std::int64_t DivUp(std::int64_t x, std::int64_t y) { return (x + y - 1) / y; }
inline std::int64_t RoundUp(std::int64_t x, std::int64_t y) { return DivUp(x, y) * y; }
// The largest of as few parts as those of at most `most` are, each about as large as the others.
inline std::int64_t EqualParts(std::int64_t whole, std::int64_t most) {
  return whole == 0 ? most : DivUp(whole, DivUp(whole, most));
}

}  // namespace stoker::cpu
