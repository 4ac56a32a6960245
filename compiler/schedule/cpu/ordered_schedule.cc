#include "compiler/schedule/cpu/ordered_schedule.h"

#include <algorithm>
#include <vector>

#include "compiler/ir/text.h"
#include "compiler/schedule/cpu/launch/sizes.h"

namespace stoker::cpu {
namespace {

constexpr std::int64_t kLaneBlock = 64;  // Outer points of a task that scans many at once.
constexpr int kScanUnroll = 4;           // Vectors of them: of f64, half a line each.
constexpr int kScatterUnroll = 2;
constexpr std::int64_t kScatterBlock = 128;  // Lanes of a task, which reads all indices.
constexpr std::int64_t kMaxSortExtent = INT64_C(1) << 31;

bool Uses(const Access& access, int dim) {
  return std::any_of(access.index.terms.begin(), access.index.terms.end(),
                     [&](const IndexTerm& term) { return term.dim == dim; });
}

// The last dim is one of the window: all its points go to one place, side by side.
bool LastDimIsWindow(const ScatterFunc& func) {
  if (func.dims.empty()) return false;
  const int last = static_cast<int>(func.dims.size()) - 1;
  const bool indexed = std::any_of(func.indices.begin(), func.indices.end(),
                                   [&](const Access& index) { return Uses(index, last); });
  return !indexed && func.output.index.CoefficientOf(last) == SymDim(1);
}

// Neighbours along the last outer dim lie together.
bool LanesAreOuter(const ScanFunc& func) {
  if (func.outer.empty()) return false;
  const int last = static_cast<int>(func.outer.size()) - 1;
  const SymDim one = 1;
  return func.input.index.CoefficientOf(last) == one &&
         func.output.index.CoefficientOf(last) == one;
}

}  // namespace

ScanSchedule ScheduleScan(const ScanFunc& func, const CpuMachine& machine) {
  ScanSchedule schedule;
  schedule.width = machine.Lanes(func.dtype);
  schedule.lanes_are_outer = LanesAreOuter(func);
  if (schedule.lanes_are_outer) {
    schedule.lane_block = kLaneBlock;
    schedule.unroll = kScanUnroll;
  }
  return schedule;
}

LaunchShape LaunchShapeOf(const ScanFunc& func, const ScanSchedule& schedule,
                          const CpuMachine& machine) {
  LaunchShape launch;
  launch.tasks = ProductOf(func.outer);
  double task_ns = (func.extent.IsConstant() ? static_cast<double>(func.extent.constant()) : 256) *
                   12 / schedule.width;
  if (schedule.lanes_are_outer) {
    const std::vector<SymDim> others(func.outer.begin(), func.outer.end() - 1);
    launch.tasks = ProductOf(others) * SymDim::CeilDiv(func.outer.back(), schedule.lane_block);
    task_ns *= 4;
  }
  launch.min_tasks_per_chunk = machine.MinTasksPerChunk(task_ns);
  DimTable dims;
  dims.Add(func);
  launch.dims = std::move(dims).Take();
  return launch;
}

Result<SortSchedule> ScheduleSort(const SortFunc& func) {
  const bool is_constant = func.extent.IsConstant();
  const std::int64_t extent = is_constant ? func.extent.constant() : kMaxSortExtent;
  if (is_constant && extent >= kMaxSortExtent) {
    return ResourceExhausted("Sort of " + std::to_string(extent) +
                             " elements exceeds the limit of " + std::to_string(kMaxSortExtent) +
                             ".");
  }
  SortSchedule schedule;
  schedule.packed = SizeInBytes(func.key.dtype) <= 4;
  schedule.insertion = func.keep >= 0 && func.keep <= kMaxInsertedResults && func.keep < extent;
  return schedule;
}

std::int64_t SortArrayBytes(const SortFunc& func, const SortSchedule& schedule) {
  if (SortWorkElements(func).has_value()) return 0;
  const std::int64_t items = schedule.insertion ? func.keep + 1 : func.extent.constant();
  return RoundUp(items * 8, 64);
}

LaunchShape LaunchShapeOf(const SortFunc& func, const SortSchedule& schedule,
                          const CpuMachine& machine) {
  constexpr std::int64_t kAssumedExtent = 1024;
  LaunchShape launch;
  launch.scratch_bytes =
      SortArrayBytes(func, schedule) * (schedule.insertion ? 1 : 2) * (schedule.packed ? 1 : 2);
  launch.tasks = ProductOf(func.outer);
  const std::int64_t extent = func.extent.IsConstant() ? func.extent.constant() : kAssumedExtent;
  launch.min_tasks_per_chunk =
      machine.MinTasksPerChunk(static_cast<double>(extent) * (schedule.insertion ? 2 : 40));
  DimTable dims;
  dims.Add(func);
  launch.dims = std::move(dims).Take();
  return launch;
}

ScatterSchedule ScheduleScatter(const ScatterFunc& func, const CpuMachine& machine) {
  ScatterSchedule schedule;
  const int last = static_cast<int>(func.dims.size()) - 1;
  for (int dim = 0; dim < last; ++dim) {
    if (KeepsApart(func, dim)) schedule.outer.push_back(dim);
  }
  if (!LastDimIsWindow(func)) return schedule;
  schedule.width = machine.Lanes(func.dtype);
  schedule.unroll = kScatterUnroll;
  if (KeepsApart(func, last)) schedule.lane_block = kScatterBlock;
  return schedule;
}

LaunchShape LaunchShapeOf(const ScatterFunc& func, const ScatterSchedule& schedule,
                          const CpuMachine& machine) {
  LaunchShape launch;
  launch.tasks = 1;
  double task_ns = schedule.width > 1 ? 1 : 2;  // Of one update, or of a vector of them.
  const int last = static_cast<int>(func.dims.size()) - 1;
  for (int dim = 0; dim <= last; ++dim) {
    const SymDim& extent = func.dims[static_cast<std::size_t>(dim)];
    const bool is_cut = dim == last && schedule.lane_block != 0;
    if (is_cut) launch.tasks = launch.tasks * SymDim::CeilDiv(extent, schedule.lane_block);
    if (std::ranges::find(schedule.outer, dim) != schedule.outer.end()) {
      launch.tasks = launch.tasks * extent;
    } else if (dim == last && schedule.width > 1) {
      const std::int64_t most = is_cut ? schedule.lane_block : Typical(extent);
      task_ns *= static_cast<double>(DivUp(std::min(most, Typical(extent)), schedule.width));
    } else {
      task_ns *= static_cast<double>(Typical(extent));
    }
  }
  launch.min_tasks_per_chunk = machine.MinTasksPerChunk(task_ns);
  DimTable dims;
  dims.Add(func);
  launch.dims = std::move(dims).Take();
  return launch;
}

std::string ToString(const ScanSchedule& schedule) {
  std::string text = "schedule scan {\n  " + std::to_string(schedule.unroll) + " x " +
                     std::to_string(schedule.width) + " lanes ";
  text += schedule.lanes_are_outer
              ? "along the last outer dim, " + std::to_string(schedule.lane_block) + " a task"
              : "along the scanned dim";
  return text + "\n}\n";
}

std::string ToString(const SortSchedule& schedule) {
  return std::string("schedule sort {\n  by ") + (schedule.insertion ? "insertion" : "merging") +
         (schedule.packed ? ", keys with their positions" : ", keys beside their positions") +
         "\n}\n";
}

std::string ToString(const ScatterSchedule& schedule) {
  std::string text = "schedule scatter {\n  " + std::to_string(schedule.unroll) + " x " +
                     std::to_string(schedule.width) + " lanes";
  if (schedule.lane_block != 0) text += ", " + std::to_string(schedule.lane_block) + " a task";
  if (!schedule.outer.empty()) text += ", a task for each point of " + ListText(schedule.outer);
  return text + "\n}\n";
}

}  // namespace stoker::cpu
