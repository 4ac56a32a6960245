// ScheduledProgram: the kernels of a program, each once, scheduled for a target.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/kernel/scheduled_kernel.h"
#include "compiler/schedule/program.h"
#include "protocol/key/target.h"

namespace stoker {

struct ScheduledProgram {
  std::vector<ScheduledKernel> kernels;  // In order of their first step; no two are the same.
  std::vector<std::uint32_t> kernel_of;  // Per step.
};

Result<ScheduledProgram> ScheduleSteps(const Program& program, const Target& target);

}  // namespace stoker
