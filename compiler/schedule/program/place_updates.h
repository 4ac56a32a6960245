// Outputs that are made in the memory of inputs.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/schedule/program/program.h"

namespace stoker {

// Makes the steps of `program` keep the rules of OutputSpec::updates_input. The first step that
// makes such an output is either after the last one that reads the input; or it is a loop that
// reads each element of the input where, and before, it writes the same one of the output: then its
// operand for the output stands for both, and a step that would write what is there is gone.
// Returns the outputs for which this does not hold; with any, the program is good for nothing.
std::vector<std::uint32_t> PlaceUpdates(Program& program);

}  // namespace stoker
