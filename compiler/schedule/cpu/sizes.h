// Arithmetic on extents, of which some are known when a kernel runs only.
#pragma once

#include <cstdint>
#include <optional>

#include "protocol/graph/sym_dim.h"

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

}  // namespace stoker::cpu
