// ScheduledProgram: the kernels of a program, each once, scheduled for a target.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/kernel/scheduled_kernel.h"
#include "compiler/schedule/program/program.h"
#include "protocol/key/target.h"

namespace stoker {

inline constexpr std::uint32_t kNoKernel = 0xffffffffU;  // Of a step that the host runs.

struct ScheduledProgram {
  std::vector<ScheduledKernel> kernels;  // In order of their first step; no two are the same.
  std::vector<std::uint32_t> kernel_of;  // Per step; or kNoKernel.
};

// `failed`: the group of the step that has no schedule, where that is the error.
Result<ScheduledProgram> ScheduleSteps(const Program& program, const Target& target,
                                       std::uint32_t& failed);

}  // namespace stoker
