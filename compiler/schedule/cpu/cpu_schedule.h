// CpuSchedule: how a kernel runs on a CPU. A value: it is chosen here, printed, part of the
// kernel's key, and emitted as it stands. With the machine it says all that code generation may
// ask.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "compiler/ir/kernel_func.h"
#include "compiler/machine/cpu_machine.h"
#include "compiler/schedule/cpu/attention_plan.h"
#include "compiler/schedule/cpu/contraction_schedule.h"
#include "compiler/schedule/cpu/launch_shape.h"
#include "compiler/schedule/cpu/loop_schedule.h"
#include "compiler/schedule/cpu/ordered_schedule.h"
#include "compiler/schedule/cpu/pack_schedule.h"
#include "protocol/base/result.h"

namespace stoker {

struct CpuSchedule {
  // Of the kind of the function, in KernelFunc's order.
  std::variant<cpu::LoopSchedule, cpu::ContractionSchedule, cpu::PackSchedule,
               cpu::AttentionSchedule, cpu::ScanSchedule, cpu::SortSchedule, cpu::ScatterSchedule>
      how;
  LaunchShape launch;  // Follows from function and `how`.
};

struct CpuKernel {
  KernelFunc func;  // The algorithm, or an equal one in the form that is emitted.
  CpuSchedule schedule;
};

std::string ToString(const CpuSchedule& schedule);

// The best known schedule, and with it others that compute the same within NUMERICS.md, for a tuner
// to measure: no two are the same. Errors name what has no kernel.
Result<CpuKernel> ScheduleForCpu(const KernelFunc& func, const CpuMachine& machine);
Result<std::vector<CpuKernel>> CpuCandidates(const KernelFunc& func, const CpuMachine& machine);

}  // namespace stoker
