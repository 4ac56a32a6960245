// What a launch plan does, for people: sizes of the arenas, then launch by launch the kernel, how
// it is launched, its cost (on a CPU beside the peak of one core), and its buffers.
#pragma once

#include <span>
#include <string>

#include "compiler/kernel/scheduled_kernel.h"
#include "protocol/artifact/launch_plan.h"

namespace stoker {

// `kernels`: the plan's.
std::string ToString(const LaunchPlan& plan, std::span<const ScheduledKernel> kernels);

}  // namespace stoker
