// The rules of a plan that updates inputs of its calls in place. Private to protocol/artifact.
#pragma once

#include "protocol/artifact/launch_plan.h"
#include "protocol/base/result.h"

namespace stoker {

// Proves that no step reads what an input held before an output took its memory, and that no call
// of the host, which may fail, comes after that: see OutputSpec::updates_input. Requires indices
// that exist, and loops that CheckLoops has seen. A kernel that names such an output alone may read
// its old elements there: what a kernel does with its own operands is the compiler's.
Status CheckUpdates(const LaunchPlan& plan);

}  // namespace stoker
