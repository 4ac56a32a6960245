// Which threads of a GPU compute what of a loop function.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/loop_func.h"
#include "compiler/machine/gpu_machine.h"
#include "compiler/schedule/cuda/cuda_schedule.h"
#include "protocol/base/result.h"

namespace stoker::cuda {

struct ScheduledLoop {
  LoopFunc func;
  CudaSchedule schedule;  // All but `dims`.
};

// Unimplemented where a reduction keeps a dim that another one reduces.
Result<ScheduledLoop> ScheduleLoop(LoopFunc func, const GpuMachine& machine);
// The same of points, for a kernel with so many more beside them.
// Unimplemented where its points are not computed by themselves.
Result<ScheduledLoop> SchedulePoints(LoopFunc func, std::int64_t beside, const GpuMachine& machine);
// What else is worth measuring; may hold the first one again.
std::vector<ScheduledLoop> OtherLoopSchedules(const LoopFunc& func, const GpuMachine& machine);

}  // namespace stoker::cuda
