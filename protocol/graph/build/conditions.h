// What a call's sizes have to be like for a graph to mean anything, where the types of its inputs
// do not say it.
#pragma once

#include <vector>

#include "protocol/graph/graph.h"

namespace stoker {

// Dims of which none may be negative: what verifying the nodes could not decide, in their order,
// each once. One may be "overflow".
std::vector<SymDim> ConditionsOf(const Graph& graph);

}  // namespace stoker
