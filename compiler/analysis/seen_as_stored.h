// Which values are seen by all that reads them as memory has them.
#pragma once

#include <vector>

#include "protocol/graph/graph.h"

namespace stoker {

// By value: those 16-bit floats that something with a step takes, which has one result on one side
// of a number and another beside it: a comparison, a whole number made of them (floor, remainder,
// convert), the place of the largest. A kernel computes them in f32, and rounds these where it goes
// on with them by itself: not for the step alone, for what is left of `x - floor(x)` is left of
// what went into the floor. What only moves a value (a view, a concatenation, select), or its sign,
// or adds or multiplies a constant, is seen through.
std::vector<bool> SeenAsStored(const Graph& graph);

}  // namespace stoker
