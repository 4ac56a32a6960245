#include "compiler/schedule/cuda/cuda_schedule.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "compiler/schedule/loops/collapse_loops.h"
#include "compiler/schedule/loops/dim_table.h"

namespace stoker {
namespace {

constexpr std::int64_t kParameterBytes = 8;  // A pointer or an i64.

Error NoSchedule(std::string_view kind) {
  return Unimplemented("There is no CUDA schedule for a " + std::string(kind) +
                       "; there is one for pointwise loops.");
}

std::string_view KindOf(const LoopFunc&) { return "loop"; }
std::string_view KindOf(const ContractionFunc&) { return "contraction"; }
std::string_view KindOf(const PackFunc&) { return "packing of a right operand"; }
std::string_view KindOf(const AttentionFunc&) { return "kernel of attention"; }
std::string_view KindOf(const ScanFunc&) { return "scan"; }
std::string_view KindOf(const SortFunc&) { return "sort"; }
std::string_view KindOf(const ScatterFunc&) { return "scatter"; }

// One stage whose every point is computed by itself.
Status CheckPointwise(const LoopFunc& func) {
  for (const Stage& stage : func.stages) {
    if (!stage.reductions.empty()) return NoSchedule("loop with reductions");
  }
  if (func.stages.size() != 1) {
    return NoSchedule("loop of " + std::to_string(func.stages.size()) + " stages");
  }
  const Stage& stage = func.stages[0];
  if (!stage.temporaries.empty()) return NoSchedule("loop that keeps rows");
  if (static_cast<std::size_t>(func.num_outer) + stage.loops.size() != func.dims.size()) {
    return NoSchedule("loop that leaves out dims");
  }
  return Ok();
}

int WidestElement(const LoopFunc& func) {
  int widest = 1;
  for (const Operand& operand : func.operands) {
    widest = std::max(widest, SizeInBytes(operand.dtype));
  }
  return widest;
}

int ElementsOf(const LoopFunc& func, const GpuMachine& machine) {
  const SymDim points = ProductOf(func.dims);
  if (points.IsConstant() && points.constant() < machine.blocks.min_points_in_flight) return 1;
  return std::max(1, machine.blocks.bytes_in_flight / WidestElement(func));
}

// With so many elements a thread, or what is best if 0.
Result<CudaKernel> Schedule(LoopFunc func, const GpuMachine& machine, int elements) {
  STOKER_RETURN_IF_ERROR(CheckPointwise(func));
  func.num_outer = static_cast<int>(func.dims.size());
  func.stages[0].loops.clear();
  CollapseLoops(func);

  CudaSchedule schedule;
  schedule.threads = machine.blocks.threads;
  schedule.elements = elements == 0 ? ElementsOf(func, machine) : elements;
  const std::int64_t points = std::int64_t{schedule.threads} * schedule.elements;
  schedule.grid = SymDim::CeilDiv(ProductOf(func.dims), points);
  if (schedule.grid.IsConstant() && schedule.grid.constant() > machine.max_grid_blocks) {
    return ResourceExhausted("A loop needs " + schedule.grid.ToString() + " blocks of " +
                             std::to_string(points) + " points; a grid has " +
                             std::to_string(machine.max_grid_blocks) + " at most.");
  }
  DimTable dims;
  for (const SymDim& dim : func.dims) dims.Add(dim);
  dims.Add(func.stages[0].body);
  dims.Add(func.stages[0].stores);
  schedule.dims = std::move(dims).Take();
  const auto parameters = static_cast<std::int64_t>(func.operands.size() + schedule.dims.size());
  if (parameters * kParameterBytes > machine.max_parameter_bytes) {
    return ResourceExhausted("A kernel of " + std::to_string(parameters) + " parameters (" +
                             std::to_string(parameters * kParameterBytes) +
                             " bytes) exceeds the limit of " +
                             std::to_string(machine.max_parameter_bytes) + " bytes.");
  }
  return CudaKernel{std::move(func), std::move(schedule)};
}

Result<CudaKernel> Schedule(const KernelFunc& func, const GpuMachine& machine, int elements) {
  if (const auto* loop = std::get_if<LoopFunc>(&func)) return Schedule(*loop, machine, elements);
  return NoSchedule(std::visit([](const auto& f) { return KindOf(f); }, func));
}

}  // namespace

Result<CudaKernel> ScheduleForCuda(const KernelFunc& func, const GpuMachine& machine) {
  return Schedule(func, machine, 0);
}

Result<std::vector<CudaKernel>> CudaCandidates(const KernelFunc& func, const GpuMachine& machine) {
  STOKER_TRY(CudaKernel first, ScheduleForCuda(func, machine));
  const int chosen = first.schedule.elements;
  std::vector<CudaKernel> kernels;
  kernels.push_back(std::move(first));
  for (const int elements : {1, 2, 4, 8}) {
    if (elements == chosen) continue;
    Result<CudaKernel> other = Schedule(func, machine, elements);
    if (other.ok()) kernels.push_back(*std::move(other));
  }
  return kernels;
}

std::string ToString(const CudaSchedule& schedule) {
  return "schedule cuda {\n  " + std::to_string(schedule.threads) + " threads x " +
         std::to_string(schedule.elements) + " elements a block\n}\nlaunch {\n  " +
         schedule.grid.ToString() + " blocks\n}\n";
}

}  // namespace stoker
