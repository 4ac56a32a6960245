// Fusion: which nodes become one kernel.
#pragma once

#include <vector>

#include "compiler/analysis/reads.h"
#include "compiler/machine/fusion_limits.h"
#include "compiler/schedule/group.h"
#include "protocol/base/result.h"

namespace stoker {

// Greedy. Contractions first, in graph order: each takes the pointwise nodes that follow it, since
// an epilogue saves a pass over memory. Then loops, from the outputs backwards: each takes, as long
// as its kernel computes them at the very point where they are needed, its producers (what others
// read of them is stored beside) and its consumers. Views are nobody's members.
// `prepared`: see FindPrepared; a group never mixes what is prepared with what is not.
Grouping FuseNodes(const Graph& graph, const Reads& reads, const std::vector<bool>& prepared,
                   const FusionLimits& limits);

}  // namespace stoker
