// Which loop of a kernel is the vectorized one, and how the others nest.
#pragma once

#include <vector>

#include "compiler/ir/loop_func.h"
#include "compiler/machine/fusion_limits.h"
#include "compiler/schedule/group.h"

namespace stoker {

struct LoopOrder {
  std::vector<int> dims;  // Of the group's space, outermost first; the last one is the lanes.
  int num_outer = 0;      // 0 for pointwise groups: any dim may be an outer one.
};

// From the accesses of `func`, built over the group's dims in any order: the lanes are where most
// bytes are contiguous, the others follow the strides of the largest access.
LoopOrder ChooseLoopOrder(const Group& group, const LoopFunc& func, const FusionLimits& limits);

// A dim that some access divides or takes the remainder of, and by what, such that splitting the
// dim there makes the access affine; nothing when all are, or no split helps.
struct DimSplit {
  int dim = 0;
  std::int64_t inner = 1;
};
std::optional<DimSplit> FindDimSplit(const IndexSpace& space, const LoopFunc& func);
std::optional<DimSplit> FindDimSplit(const IndexSpace& space, const IndexMap& index);

}  // namespace stoker
