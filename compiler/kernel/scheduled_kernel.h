// ScheduledKernel: what a kernel computes and how, the whole input of code generation.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "compiler/ir/kernel_func.h"
#include "compiler/schedule/cpu/cpu_schedule.h"
#include "protocol/base/result.h"
#include "protocol/key/target.h"

namespace stoker {

struct ScheduledKernel {
  KernelFunc func;
  std::variant<CpuSchedule> schedule;  // Of the target's kind.

  const LaunchShape& launch() const { return std::get<CpuSchedule>(schedule).launch; }
};

// Canonical text: the content of the KernelKey.
std::string ToString(const ScheduledKernel& kernel);

// The best schedule known for a target, and the alternatives, that one first.
Result<ScheduledKernel> ScheduleKernel(const KernelFunc& func, const Target& target);
Result<std::vector<ScheduledKernel>> Candidates(const KernelFunc& func, const Target& target);

}  // namespace stoker
