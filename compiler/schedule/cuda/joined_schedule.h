// Which blocks of a GPU have which of several loops.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/ir/joined_func.h"
#include "compiler/machine/gpu_machine.h"
#include "compiler/schedule/cuda/cuda_schedule.h"
#include "protocol/base/result.h"

namespace stoker::cuda {

struct ScheduledJoin {
  JoinedFunc func;
  CudaSchedule schedule;
};

struct PartCost {
  std::int64_t points = 0;
  std::int64_t operations = 0;
};

// Of a loop as a part of a kernel with so many points beside it; nothing where it can be none: its
// points are not computed by themselves, or their number is not known.
std::optional<PartCost> CostOfPart(const LoopFunc& func, std::int64_t beside,
                                   const GpuMachine& machine);

// Unimplemented with such a part.
Result<ScheduledJoin> ScheduleJoined(const JoinedFunc& func, const GpuMachine& machine);

}  // namespace stoker::cuda
