// PackedLayout: how the right operand of a product lies once it is packed.
#pragma once

#include <cstdint>

#include "protocol/base/dtype.h"

namespace stoker {

// [rhs batch][ceil(N/nr)][ceil(K/kr)][nr][kr], zero filled, K running over the merged k nest in
// order. kr is 1 for f32, 2 for bf16 pairs (VNNI). For AMX K is padded to a multiple of 32; f32
// that AMX multiplies in bf16 parts lies in pairs too.
struct PackedLayout {
  DType dtype = DType::kF32;
  std::int64_t nr = 32;
  std::int64_t kr = 1;
  std::int64_t k_multiple = 1;  // K is zero-padded to a multiple of this.

  friend bool operator==(const PackedLayout&, const PackedLayout&) = default;
};

}  // namespace stoker
