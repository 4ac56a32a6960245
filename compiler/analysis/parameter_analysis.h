// Which values follow from parameters and constants alone: they are computed once, in `prepare`.
#pragma once

#include <vector>

#include "compiler/machine/fusion_limits.h"
#include "protocol/graph/graph.h"

namespace stoker {

// Per value: true when it depends on parameters, constants and iotas only and is worth keeping: its
// size is known at compile time and it is not much larger than what it is made of. Views of such
// values count as such; so do the parameters.
std::vector<bool> FindPrepared(const Graph& graph, const FusionLimits& limits);

}  // namespace stoker
