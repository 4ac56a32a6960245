// Regions as graphs that are compiled by themselves.
#pragma once

#include "protocol/graph/graph.h"

namespace stoker {

// The regions of a while, with what stays the same in every trip as parameters: what follows from
// those alone is computed once, before the first. (Those of symbolic type are activations: only
// static types are prepared.)
Result<Graph> ConditionGraph(const Node& loop);
// Each output updates the input that it becomes in the next trip.
Result<Graph> BodyGraph(const Node& loop);

}  // namespace stoker
