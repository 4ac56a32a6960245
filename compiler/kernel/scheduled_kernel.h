// ScheduledKernel: what a kernel computes and how, the whole input of code generation.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "compiler/ir/kernel_func.h"
#include "compiler/schedule/cpu/cpu_schedule.h"
#include "compiler/schedule/cuda/cuda_schedule.h"
#include "protocol/base/result.h"
#include "protocol/key/target.h"

namespace stoker {

struct ScheduledKernel {
  KernelFunc func;
  std::variant<CpuSchedule, CudaSchedule> schedule;  // Of the target's kind.

  // On a GPU a task is a block; there is neither chunk nor scratch.
  LaunchShape launch() const;
};

// Canonical text: the content of the KernelKey.
std::string ToString(const ScheduledKernel& kernel);

// The best schedule known for a target, and the alternatives, that one first.
Result<ScheduledKernel> ScheduleKernel(const KernelFunc& func, const Target& target);
Result<std::vector<ScheduledKernel>> Candidates(const KernelFunc& func, const Target& target);

}  // namespace stoker
