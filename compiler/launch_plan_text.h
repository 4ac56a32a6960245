// What a launch plan does, for people: sizes of the arenas, then launch by launch the kernel, its
// cost beside the peak of one core, and its buffers.
#pragma once

#include <string>

#include "protocol/artifact/launch_plan.h"

namespace stoker {

std::string ToString(const LaunchPlan& plan);

}  // namespace stoker
