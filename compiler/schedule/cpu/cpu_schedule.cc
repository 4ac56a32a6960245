#include "compiler/schedule/cpu/cpu_schedule.h"

#include <algorithm>

namespace stoker {
namespace {

using Kernels = std::vector<CpuKernel>;

template <typename Func, typename Schedule>
Result<CpuKernel> Launched(Func func, Schedule schedule, const CpuMachine& machine) {
  STOKER_TRY(LaunchShape launch, Result<LaunchShape>(cpu::LaunchShapeOf(func, schedule, machine)));
  return CpuKernel{std::move(func), {std::move(schedule), std::move(launch)}};
}

// Tasks worth so many times as much.
CpuMachine WithTasks(CpuMachine machine, std::int64_t times, std::int64_t parts) {
  CpuTaskLimits& tasks = machine.tasks;
  for (std::int64_t* limit :
       {&tasks.min_elements, &tasks.max_elements, &tasks.min_lanes, &tasks.max_points}) {
    *limit = *limit * times / parts;
  }
  return machine;
}

// A second-level cache that holds half as much.
CpuMachine WithHalfCache(CpuMachine machine) {
  machine.caches.rows_bytes /= 2;
  machine.caches.split_rows_bytes /= 2;
  machine.caches.split_sums_bytes /= 2;
  return machine;
}

Result<CpuKernel> Schedule(const LoopFunc& func, const CpuMachine& machine,
                           int max_unroll = INT_MAX) {
  STOKER_TRY(cpu::ScheduledLoop loop, cpu::ScheduleLoop(func, machine, max_unroll));
  return Launched(std::move(loop.func), std::move(loop.schedule), machine);
}

Result<CpuKernel> Schedule(const ContractionFunc& func, cpu::MicroKernel kernel,
                           const CpuMachine& machine, std::int64_t tile_rows = INT64_MAX) {
  STOKER_TRY(const cpu::ContractionSchedule schedule,
             cpu::ScheduleContraction(func, kernel, machine, tile_rows));
  return Launched(func, schedule, machine);
}

Result<CpuKernel> Schedule(const ContractionFunc& func, const CpuMachine& machine) {
  STOKER_TRY(const std::vector<cpu::MicroKernel> kernels, cpu::MicroKernelsOf(func, machine));
  return Schedule(func, kernels.front(), machine);
}

Result<CpuKernel> Schedule(const PackFunc& func, const CpuMachine& machine) {
  return Launched(func, cpu::SchedulePack(func, machine), machine);
}

Result<CpuKernel> Schedule(const AttentionFunc& func, const CpuMachine& machine) {
  const cpu::MicroKernel kernel = cpu::MicroKernelsOf(func, machine).front();
  return Launched(func, cpu::ScheduleAttention(func, kernel, machine), machine);
}

Result<CpuKernel> Schedule(const JoinedFunc&, const CpuMachine&) {
  return Unimplemented("There is no CPU schedule for loops side by side: a call costs nothing.");
}

Result<CpuKernel> Schedule(const ScanFunc& func, const CpuMachine& machine) {
  return Launched(func, cpu::ScheduleScan(func, machine), machine);
}

Result<CpuKernel> Schedule(const SortFunc& func, const CpuMachine& machine) {
  STOKER_TRY(const cpu::SortSchedule schedule, cpu::ScheduleSort(func));
  return Launched(func, schedule, machine);
}

Result<CpuKernel> Schedule(const ScatterFunc& func, const CpuMachine& machine) {
  return Launched(func, cpu::ScheduleScatter(func, machine), machine);
}

// What other rules than the default ones give; some may be the same, some have no kernel.
std::vector<Result<CpuKernel>> Others(const LoopFunc& func, const CpuMachine& machine) {
  return {Schedule(func, machine, 1), Schedule(func, WithTasks(machine, 4, 1)),
          Schedule(func, WithTasks(machine, 1, 4))};
}

std::vector<Result<CpuKernel>> Others(const ContractionFunc& func, const CpuMachine& machine) {
  const Result<std::vector<cpu::MicroKernel>> kernels = cpu::MicroKernelsOf(func, machine);
  if (!kernels.ok()) return {};
  std::vector<Result<CpuKernel>> others;
  for (const cpu::MicroKernel kernel : *kernels) {
    others.push_back(Schedule(func, kernel, machine));
    others.push_back(Schedule(func, kernel, WithHalfCache(machine)));
    if (IsAmx(kernel)) continue;  // Its tiles have the rows they have.
    const auto found = cpu::ScheduleContraction(func, kernel, machine);
    if (found.ok() && found->tile_rows > 2) {
      others.push_back(Schedule(func, kernel, machine, found->tile_rows / 2));
    }
  }
  return others;
}

std::vector<Result<CpuKernel>> Others(const AttentionFunc& func, const CpuMachine& machine) {
  std::vector<Result<CpuKernel>> others;
  CpuMachine in_blocks = machine;
  in_blocks.caches.max_single_key_block = 0;
  for (const cpu::MicroKernel kernel : cpu::MicroKernelsOf(func, machine)) {
    for (const CpuMachine& asked : {machine, in_blocks}) {
      others.push_back(Launched(func, cpu::ScheduleAttention(func, kernel, asked), machine));
    }
  }
  return others;
}

template <typename Func>
std::vector<Result<CpuKernel>> Others(const Func&, const CpuMachine&) {
  return {};
}

}  // namespace

Result<CpuKernel> ScheduleForCpu(const KernelFunc& func, const CpuMachine& machine) {
  return std::visit([&](const auto& f) { return Schedule(f, machine); }, func);
}

Result<std::vector<CpuKernel>> CpuCandidates(const KernelFunc& func, const CpuMachine& machine) {
  STOKER_TRY(CpuKernel first, ScheduleForCpu(func, machine));
  const auto text_of = [](const CpuKernel& kernel) {
    return ToString(kernel.func) + ToString(kernel.schedule);
  };
  std::vector<std::string> seen = {text_of(first)};
  Kernels kernels;
  kernels.push_back(std::move(first));
  auto others = std::visit([&](const auto& f) { return Others(f, machine); }, func);
  for (Result<CpuKernel>& other : others) {
    if (!other.ok()) continue;
    std::string text = text_of(*other);
    if (std::find(seen.begin(), seen.end(), text) != seen.end()) continue;
    seen.push_back(std::move(text));
    kernels.push_back(*std::move(other));
  }
  return kernels;
}

std::string ToString(const CpuSchedule& schedule) {
  const LaunchShape& launch = schedule.launch;
  std::string text = std::visit([](const auto& how) { return ToString(how); }, schedule.how);
  text += "launch {\n  " + launch.tasks.ToString() + " tasks, " +
          std::to_string(launch.min_tasks_per_chunk) + " a chunk, ";
  if (launch.min_tasks_per_call != 1) {
    text += std::to_string(launch.min_tasks_per_call) + " a call, ";
  }
  return text + std::to_string(launch.scratch_bytes) + " bytes of scratch\n}\n";
}

}  // namespace stoker
