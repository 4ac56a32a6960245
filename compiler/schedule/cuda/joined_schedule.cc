#include "compiler/schedule/cuda/joined_schedule.h"

#include <algorithm>
#include <utility>

#include "compiler/schedule/cuda/loop_cost.h"
#include "compiler/schedule/cuda/loop_form.h"
#include "compiler/schedule/cuda/loop_schedule.h"
#include "compiler/schedule/loops/dim_table.h"

namespace stoker::cuda {
namespace {

// Nothing is left for a launch to say.
bool IsKnown(const LoopFunc& func) {
  DimTable dims;
  dims.Add(func);
  return std::move(dims).Take().empty();
}

std::int64_t PointsOf(const LoopFunc& func) { return ProductOf(func.dims).constant(); }

}  // namespace

std::optional<PartCost> CostOfPart(const LoopFunc& func, std::int64_t beside,
                                   const GpuMachine& machine) {
  if (!IsKnown(func)) return std::nullopt;
  const auto loop = SchedulePoints(func, beside, machine);
  if (!loop.ok()) return std::nullopt;
  const ThreadPart part{LoopForm::kPoints, VectorDim(loop->func, LoopForm::kPoints),
                        loop->schedule.width, std::get<PointSchedule>(loop->schedule.how).vectors,
                        false};
  return PartCost{PointsOf(func), EmittedOperations(loop->func, part)};
}

Result<ScheduledJoin> ScheduleJoined(const JoinedFunc& func, const GpuMachine& machine) {
  std::int64_t points = 0;
  for (const LoopFunc& part : func.parts) {
    if (!IsKnown(part)) return Unimplemented("Only loops of known sizes share a kernel.");
    points += PointsOf(part);
  }
  ScheduledJoin join;
  JoinedSchedule how;
  std::int64_t blocks = 0;
  join.schedule.threads = machine.blocks.threads;
  join.schedule.blocks_per_sm = machine.max_blocks_per_sm;
  for (const LoopFunc& part : func.parts) {
    STOKER_TRY(ScheduledLoop loop, SchedulePoints(part, points - PointsOf(part), machine));
    const CudaSchedule& its = loop.schedule;
    how.parts.push_back({its.width, std::get<PointSchedule>(its.how).vectors, its.grid.constant()});
    blocks += its.grid.constant();
    join.schedule.width = std::max(join.schedule.width, its.width);
    join.schedule.blocks_per_sm = std::min(join.schedule.blocks_per_sm, its.blocks_per_sm);
    join.func.parts.push_back(std::move(loop.func));
  }
  join.schedule.grid = blocks;
  join.schedule.how = std::move(how);
  return join;
}

}  // namespace stoker::cuda
