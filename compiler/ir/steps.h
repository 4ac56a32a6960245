// Which operations have steps.
#pragma once

#include <algorithm>
#include <iterator>

#include "protocol/graph/op_kind.h"

namespace stoker {

// Whether the operation has one result on one side of a number and another beside it. Conversions
// have steps, too, where they make whole numbers of floats.
inline bool HasSteps(OpKind kind) {
  constexpr OpKind kSteps[] = {OpKind::kSign,    OpKind::kFloor,     OpKind::kCeil,
                               OpKind::kTrunc,   OpKind::kRemainder, OpKind::kRoundNearestEven,
                               OpKind::kCompare, OpKind::kIsFinite,  OpKind::kArgReduce};
  return std::ranges::find(kSteps, kind) != std::end(kSteps);
}

}  // namespace stoker
