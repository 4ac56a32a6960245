#include "compiler/lower_and_schedule.h"

#include <optional>
#include <utility>

#include "compiler/join_loops.h"
#include "compiler/machine/gpu_machine.h"
#include "compiler/schedule/fusion/cut_group.h"
#include "compiler/schedule/fusion/order_groups.h"
#include "compiler/schedule/fusion/stored_values.h"

namespace stoker {
namespace {

Result<LoweredGroups> LowerOnce(const LoweringInput& input, const Grouping& grouping, Laps& laps,
                                std::uint32_t& failed) {
  const auto& [graph, reads, prepared, whiles, machine, numerics, target] = input;
  const StoredValues values = FindStoredValues(graph, reads, grouping, machine.fusion_limits());
  const ScheduledGraph scheduled{graph,
                                 reads,
                                 prepared,
                                 grouping,
                                 values,
                                 whiles,
                                 OrderGroups(graph, reads, grouping, values)};
  laps.End("order groups");
  STOKER_TRY(Program program, LowerGroups(scheduled, machine, numerics, failed));
  laps.End("lower");
  STOKER_TRY(ScheduledProgram kernels, ScheduleSteps(program, target, failed));
  laps.End("schedule kernels");
  return LoweredGroups{std::move(program), std::move(kernels)};
}

Result<LoweredGroups> Joined(LoweredGroups groups, const LoweringInput& input, Laps& laps) {
  if (input.target.kind() != TargetKind::kCuda) return groups;
  STOKER_TRY(const GpuMachine machine, GpuMachineOf(input.target));
  if (JoinLoops(groups.program, groups.kernels, machine)) {
    std::uint32_t failed = kNoGroup;
    STOKER_TRY(groups.kernels, ScheduleSteps(groups.program, input.target, failed));
  }
  laps.End("join loops");
  return groups;
}

}  // namespace

Result<LoweredGroups> LowerAndSchedule(const LoweringInput& input, Grouping& grouping, Laps& laps) {
  for (;;) {
    std::uint32_t failed = kNoGroup;
    Result<LoweredGroups> lowered = LowerOnce(input, grouping, laps, failed);
    if (lowered.ok()) return Joined(*std::move(lowered), input, laps);
    if (lowered.error().code != ErrorCode::kResourceExhausted) return lowered;
    if (failed == kNoGroup || !CutGroup(input.graph, input.reads, failed, grouping)) {
      return lowered;
    }
  }
}

}  // namespace stoker
