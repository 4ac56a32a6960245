#include "compiler/schedule/cuda/cuda_schedule.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "compiler/schedule/cuda/attention_schedule.h"
#include "compiler/schedule/cuda/joined_schedule.h"
#include "compiler/schedule/cuda/loop_schedule.h"
#include "compiler/schedule/cuda/ordered_schedule.h"
#include "compiler/schedule/loops/dim_table.h"

namespace stoker {
namespace {

constexpr std::int64_t kParameterBytes = 8;  // A pointer or an i64.

Error NoSchedule(std::string_view kind) {
  return Unimplemented("There is no CUDA schedule for a " + std::string(kind) +
                       "; there is one for loops, attention, scans, sorts and scatters.");
}

Status CheckLimits(const CudaSchedule& schedule, std::size_t operands, const GpuMachine& machine) {
  if (schedule.grid.IsConstant() && schedule.grid.constant() > machine.max_grid_blocks) {
    return ResourceExhausted("A kernel needs " + schedule.grid.ToString() + " blocks of " +
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

template <typename Func>
Result<CudaKernel> Finished(Func func, CudaSchedule schedule, std::size_t operands,
                            const GpuMachine& machine) {
  DimTable dims;
  dims.Add(func);
  schedule.dims = std::move(dims).Take();
  STOKER_RETURN_IF_ERROR(CheckLimits(schedule, operands, machine));
  return CudaKernel{std::move(func), std::move(schedule)};
}

Result<CudaKernel> Finished(cuda::ScheduledLoop loop, const GpuMachine& machine) {
  const std::size_t operands = loop.func.operands.size();
  return Finished(std::move(loop.func), std::move(loop.schedule), operands, machine);
}

Result<CudaKernel> Scheduled(const LoopFunc& func, const GpuMachine& machine) {
  STOKER_TRY(cuda::ScheduledLoop scheduled, cuda::ScheduleLoop(func, machine));
  return Finished(std::move(scheduled), machine);
}
Result<CudaKernel> Scheduled(const JoinedFunc& func, const GpuMachine& machine) {
  STOKER_TRY(cuda::ScheduledJoin scheduled, cuda::ScheduleJoined(func, machine));
  STOKER_RETURN_IF_ERROR(CheckLimits(scheduled.schedule, NumOperands(scheduled.func), machine));
  return CudaKernel{std::move(scheduled.func), std::move(scheduled.schedule)};
}
Result<CudaKernel> Scheduled(const ContractionFunc&, const GpuMachine&) {
  return NoSchedule("contraction");
}
Result<CudaKernel> Scheduled(const PackFunc&, const GpuMachine&) {
  return NoSchedule("packing of a right operand");
}
Result<CudaKernel> Scheduled(const AttentionFunc& func, const GpuMachine& machine) {
  STOKER_TRY(CudaSchedule schedule, cuda::ScheduleAttention(func, machine));
  return Finished(func, std::move(schedule), NumOperands(func), machine);
}
Result<CudaKernel> Scheduled(const ScanFunc& func, const GpuMachine& machine) {
  return Finished(func, cuda::ScheduleScan(func, machine), NumOperands(func), machine);
}
Result<CudaKernel> Scheduled(const SortFunc& func, const GpuMachine& machine) {
  return Finished(func, cuda::ScheduleSort(func, machine), NumOperands(func), machine);
}
Result<CudaKernel> Scheduled(const ScatterFunc& func, const GpuMachine& machine) {
  return Finished(func, cuda::ScheduleScatter(func, machine), NumOperands(func), machine);
}

std::string HowText(const PointSchedule& points) {
  return "points, " + std::to_string(points.vectors) + " vectors a thread";
}

std::string HowText(const RowSchedule& rows) {
  return "rows, " + std::to_string(rows.team) + " threads a row, " + std::to_string(rows.vectors) +
         (rows.kept ? " vectors a thread kept in registers" : " vectors in flight") +
         (rows.standing ? ", one row after the other" : "");
}

std::string HowText(const ColumnSchedule& columns) {
  return "columns, " + std::to_string(columns.team) + " threads a column, " +
         std::to_string(columns.points) + " points in flight";
}

std::string HowText(const JoinedSchedule& joined) {
  std::string text = "side by side";
  for (const JoinedSchedule::Part& part : joined.parts) {
    text += "\n    " + std::to_string(part.blocks) + " blocks: points, " +
            std::to_string(part.vectors) + " vectors of " + std::to_string(part.width) +
            " a thread";
  }
  return text;
}

std::string HowText(const AttentionSchedule& attention) {
  return "attention, " + std::to_string(AttentionSchedule::kQueries) +
         " queries a warp, tiles of " + std::to_string(attention.keys) + " keys";
}

std::string HowText(const ThreadSchedule& threads) {
  std::string dims;
  for (const int dim : threads.dims) dims += (dims.empty() ? "" : ", ") + std::to_string(dim);
  return "a thread for each point of dims [" + dims + "]";
}

}  // namespace

Result<CudaKernel> ScheduleForCuda(const KernelFunc& func, const GpuMachine& machine) {
  return std::visit([&](const auto& f) { return Scheduled(f, machine); }, func);
}

Result<std::vector<CudaKernel>> CudaCandidates(const KernelFunc& func, const GpuMachine& machine) {
  STOKER_TRY(CudaKernel first, ScheduleForCuda(func, machine));
  std::vector<std::string> texts = {ToString(first.func) + ToString(first.schedule)};
  std::vector<CudaKernel> kernels;
  kernels.push_back(std::move(first));
  const auto* loops = std::get_if<LoopFunc>(&func);
  if (loops == nullptr) return kernels;
  for (cuda::ScheduledLoop& loop : cuda::OtherLoopSchedules(*loops, machine)) {
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
         (schedule.most_blocks_per_sm > 0 ? " or " + std::to_string(schedule.most_blocks_per_sm)
                                          : std::string()) +
         " blocks an SM\n  " +
         std::visit([](const auto& how) { return HowText(how); }, schedule.how) +
         "\n}\nlaunch {\n  " + schedule.grid.ToString() + " blocks\n}\n";
}

}  // namespace stoker
