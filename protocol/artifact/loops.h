// The rules of a plan's loops. Private to protocol/artifact.
#pragma once

#include "protocol/artifact/launch_plan.h"
#include "protocol/base/result.h"

namespace stoker {

// Proves that loops lie in each other's conditions or bodies, or apart, no more than kMaxLoopDepth
// deep, each with a step at least; that what lies in another stands behind it; and that a step
// before its test names the memory of a condition that no input or constant is. Which memory that
// is has been checked.
Status CheckLoops(const LaunchPlan& plan);

}  // namespace stoker
