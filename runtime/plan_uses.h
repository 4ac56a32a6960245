// When a plan comes to what a call brings.
#pragma once

#include <cstdint>
#include <vector>

#include "protocol/artifact/launch_plan.h"

namespace stoker {

// Numbers of steps.
struct PlanUses {
  // Of each input, the last that names it; -1: none does. One that an output is, or is made in the
  // memory of, is used to the end: as many as there are steps.
  std::vector<std::int64_t> last_of_inputs;
  // Of each output, the first that names it; -1: none does.
  std::vector<std::int64_t> first_of_outputs;
};
PlanUses UsesOf(const LaunchPlan& plan);

}  // namespace stoker
