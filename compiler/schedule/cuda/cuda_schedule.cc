#include "compiler/schedule/cuda/cuda_schedule.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "compiler/schedule/cuda/loop_schedule.h"
#include "compiler/schedule/loops/dim_table.h"

namespace stoker {
namespace {

constexpr std::int64_t kParameterBytes = 8;  // A pointer or an i64.

Error NoSchedule(std::string_view kind) {
  return Unimplemented("There is no CUDA schedule for a " + std::string(kind) +
                       "; there is one for loops.");
}

std::string_view KindOf(const LoopFunc&) { return "loop"; }
std::string_view KindOf(const ContractionFunc&) { return "contraction"; }
std::string_view KindOf(const PackFunc&) { return "packing of a right operand"; }
std::string_view KindOf(const AttentionFunc&) { return "kernel of attention"; }
std::string_view KindOf(const ScanFunc&) { return "scan"; }
std::string_view KindOf(const SortFunc&) { return "sort"; }
std::string_view KindOf(const ScatterFunc&) { return "scatter"; }

Status CheckLimits(const CudaSchedule& schedule, std::size_t operands, const GpuMachine& machine) {
  if (schedule.grid.IsConstant() && schedule.grid.constant() > machine.max_grid_blocks) {
    return ResourceExhausted("A loop needs " + schedule.grid.ToString() + " blocks of " +
                             std::to_string(schedule.threads) + " threads; a grid has " +
                             std::to_string(machine.max_grid_blocks) + " at most.");
  }
  const auto parameters = static_cast<std::int64_t>(operands + schedule.dims.size());
  if (parameters * kParameterBytes > machine.max_parameter_bytes) {
    return ResourceExhausted("A kernel of " + std::to_string(parameters) + " parameters (" +
                             std::to_string(parameters * kParameterBytes) +
                             " bytes) exceeds the limit of " +
                             std::to_string(machine.max_parameter_bytes) + " bytes.");
  }
  return Ok();
}

Result<CudaKernel> Finished(cuda::ScheduledLoop loop, const GpuMachine& machine) {
  DimTable dims;
  for (const SymDim& dim : loop.func.dims) dims.Add(dim);
  for (const Stage& stage : loop.func.stages) {
    dims.Add(stage.body);
    dims.Add(stage.stores);
  }
  loop.schedule.dims = std::move(dims).Take();
  STOKER_RETURN_IF_ERROR(CheckLimits(loop.schedule, loop.func.operands.size(), machine));
  return CudaKernel{std::move(loop.func), std::move(loop.schedule)};
}

std::string HowText(const PointSchedule& points) {
  return "points, " + std::to_string(points.vectors) + " vectors a thread";
}

std::string HowText(const RowSchedule& rows) {
  return "rows, " + std::to_string(rows.team) + " threads a row, " + std::to_string(rows.vectors) +
         (rows.kept ? " vectors a thread kept in registers" : " vectors in flight");
}

std::string HowText(const ColumnSchedule& columns) {
  return "columns, " + std::to_string(columns.team) + " threads a column, " +
         std::to_string(columns.points) + " points in flight";
}

}  // namespace

Result<CudaKernel> ScheduleForCuda(const KernelFunc& func, const GpuMachine& machine) {
  const auto* loop = std::get_if<LoopFunc>(&func);
  if (loop == nullptr) {
    return NoSchedule(std::visit([](const auto& f) { return KindOf(f); }, func));
  }
  STOKER_TRY(cuda::ScheduledLoop scheduled, cuda::ScheduleLoop(*loop, machine));
  return Finished(std::move(scheduled), machine);
}

Result<std::vector<CudaKernel>> CudaCandidates(const KernelFunc& func, const GpuMachine& machine) {
  STOKER_TRY(CudaKernel first, ScheduleForCuda(func, machine));
  std::vector<std::string> texts = {ToString(first.func) + ToString(first.schedule)};
  std::vector<CudaKernel> kernels;
  kernels.push_back(std::move(first));
  for (cuda::ScheduledLoop& loop : cuda::OtherLoopSchedules(std::get<LoopFunc>(func), machine)) {
    Result<CudaKernel> other = Finished(std::move(loop), machine);
    if (!other.ok()) continue;
    std::string text = ToString(other->func) + ToString(other->schedule);
    if (std::ranges::find(texts, text) != texts.end()) continue;
    texts.push_back(std::move(text));
    kernels.push_back(*std::move(other));
  }
  return kernels;
}

std::string ToString(const CudaSchedule& schedule) {
  return "schedule cuda {\n  " + std::to_string(schedule.threads) + " threads, vectors of " +
         std::to_string(schedule.width) + ", " + std::to_string(schedule.blocks_per_sm) +
         " blocks an SM\n  " +
         std::visit([](const auto& how) { return HowText(how); }, schedule.how) +
         "\n}\nlaunch {\n  " + schedule.grid.ToString() + " blocks\n}\n";
}

}  // namespace stoker
