#include "compiler/schedule/cpu/loop_schedule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "compiler/analysis/footprint.h"
#include "compiler/schedule/cpu/loop_passes.h"
#include "compiler/schedule/loops/collapse_loops.h"
#include "compiler/schedule/loops/loop_rewrites.h"
#include "protocol/graph/op_table.h"

namespace stoker::cpu {
namespace {

constexpr std::int64_t kScratchAlignment = 64;
// Lanes written beyond a row by a whole block of vectors.
constexpr std::int64_t kRowPadding = 64;
constexpr std::int64_t kMaxScratchBytes = std::int64_t{1} << 28;
constexpr std::int64_t kBlockLanes = 64;
// What a loop of unknown extent is taken to be when costs are compared.
constexpr double kUnknownExtent = 256;

double ExtentOf(const SymDim& dim) {
  return dim.IsConstant() ? static_cast<double>(dim.constant()) : kUnknownExtent;
}

// ---- Lanes
// ---------------------------------------------------------------------------------------

// Of memory, with the lanes of every stage along its last loop, or along outer dim `outer`.
double CostOf(const LoopFunc& func, int outer, const FusionLimits& limits) {
  double cost = 0;
  for (const Stage& stage : func.stages) {
    const int lane = outer >= 0 ? outer : stage.loops.empty() ? -1 : stage.loops.back();
    cost += CostOfLanes(FootprintsOf(func.dims, stage), func.dims, lane, limits);
  }
  return cost;
}

void ChooseLanes(LoopFunc& func, const FusionLimits& limits) {
  double best_cost = CostOf(func, -1, limits);
  int best = -1;
  for (int dim = func.num_outer - 1; dim >= 0; --dim) {
    const double cost = CostOf(func, dim, limits);
    if (cost < best_cost * 0.75) {  // Only a clear gain is worth the longer rows in scratch.
      best = dim;
      best_cost = cost;
    }
  }
  if (best >= 0) PushInside(func, best);
}

// Inner dims that every stage loops over and none reduces, all but the innermost loop.
std::vector<int> ParallelLoops(const LoopFunc& func) {
  std::vector<int> dims;
  for (int dim = func.num_outer; dim < static_cast<int>(func.dims.size()); ++dim) {
    const bool parallel =
        std::all_of(func.stages.begin(), func.stages.end(), [&](const Stage& stage) {
          const bool reduced =
              std::any_of(stage.reductions.begin(), stage.reductions.end(),
                          [&](const Reduction& r) { return Contains(r.over, dim); });
          return Contains(stage.loops, dim) && stage.loops.back() != dim && !reduced;
        });
    if (parallel && !func.stages.empty()) dims.push_back(dim);
  }
  return dims;
}

// ---- Costs
// ---------------------------------------------------------------------------------------

double PointwiseCost(const BodyInstr& instr) {
  constexpr std::array<double, kNumOpCosts> kCosts = {0,  1,  10, 15,
                                                      20, 60, 0};  // In the order of OpCost.
  const double wide = SizeInBytes(instr.dtype) == 8 ? 2 : 1;
  return kCosts[static_cast<std::size_t>(RowOf(instr.pointwise).cost)] * wide;
}

// Vector instructions of one vector of points, roughly.
double BodyCost(const Stage& stage) {
  double cost = static_cast<double>(stage.stores.size() + stage.temporaries.size());
  for (const BodyInstr& instr : stage.body.instrs) {
    if (instr.op == BodyOp::kPointwise) cost += PointwiseCost(instr);
    if (instr.op == BodyOp::kLoad) cost += 1;
  }
  for (const Reduction& reduction : stage.reductions) {
    cost += SizeInBytes(reduction.dtype) == 8 ? 2 : 1;
  }
  return cost;
}

double TaskNs(const LoopFunc& func, const LoopSchedule& schedule) {
  double ns = 5;
  for (std::size_t i = 0; i < func.stages.size(); ++i) {
    const Stage& stage = func.stages[i];
    const StageShape& shape = schedule.stages[i];
    double vectors = 1;
    for (const int dim : stage.loops) {
      double extent = ExtentOf(func.dims[static_cast<std::size_t>(dim)]);
      if (dim == schedule.split_dim) extent = std::min(extent, static_cast<double>(schedule.block));
      if (dim == stage.loops.back()) extent = std::ceil(extent / shape.width);
      vectors *= extent;
    }
    ns += vectors * (0.5 + 0.2 * BodyCost(stage));
  }
  return ns;
}

// ---- Tasks and scratch
// ---------------------------------------------------------------------------

void ChooseSplit(const LoopFunc& func, LoopSchedule& schedule, const CpuTaskLimits& limits) {
  if (func.stages.empty() || func.stages[0].loops.empty()) return;
  const int dim = func.stages[0].loops.back();
  double others = 1;
  for (const Stage& stage : func.stages) {
    if (stage.loops.empty() || stage.loops.back() != dim) return;
    double points = 1;
    for (const int loop : stage.loops) {
      if (loop != dim) points *= ExtentOf(func.dims[static_cast<std::size_t>(loop)]);
    }
    others = std::max(others, points);
    for (const Reduction& reduction : stage.reductions) {
      if (Contains(reduction.over, dim)) return;
    }
  }
  const auto lanes = static_cast<std::int64_t>(static_cast<double>(limits.max_points) / others);
  const std::int64_t block = std::max(lanes / kBlockLanes, std::int64_t{1}) * kBlockLanes;
  const SymDim& extent = func.dims[static_cast<std::size_t>(dim)];
  if (extent.IsConstant() && extent.constant() <= block) return;
  schedule.split_dim = dim;
  schedule.block = block;
}

// Elements of a row along `dim`, or nothing if that is not known now.
std::optional<std::int64_t> ExtentInTask(const LoopFunc& func, const LoopSchedule& schedule,
                                         int dim) {
  if (dim == schedule.split_dim) return schedule.block;
  const SymDim& extent = func.dims[static_cast<std::size_t>(dim)];
  if (!extent.IsConstant()) return std::nullopt;
  return extent.constant();
}

// The same of a temporary's row: how much of it is kept at most.
std::optional<std::int64_t> KeptExtent(const LoopFunc& func, const LoopSchedule& schedule,
                                       int dim) {
  return dim == schedule.row_dim ? schedule.row_limit : ExtentInTask(func, schedule, dim);
}

Status PlaceRow(const LoopFunc& func, const LoopSchedule& schedule, LoopRows& placed,
                std::uint32_t id, DType dtype, std::vector<int> dims, bool is_temporary) {
  ScratchRow row;
  row.dtype = dtype;
  row.dims = std::move(dims);
  row.strides.resize(row.dims.size());
  std::int64_t elements = 1;
  for (std::size_t i = row.dims.size(); i-- > 0;) {
    const std::optional<std::int64_t> extent =
        (is_temporary ? KeptExtent : ExtentInTask)(func, schedule, row.dims[i]);
    if (!extent) {
      return Unimplemented("A reduction keeps dim " + std::to_string(row.dims[i]) + " of extent " +
                           func.dims[static_cast<std::size_t>(row.dims[i])].ToString() +
                           ", which is not known when the kernel is compiled.");
    }
    row.strides[i] = elements;
    elements *= *extent;
    if (elements > kMaxScratchBytes) break;
  }
  row.offset = placed.scratch_bytes;
  const std::int64_t bytes = (elements + kRowPadding) * SizeInBytes(dtype);
  placed.scratch_bytes += (bytes + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment;
  if (placed.scratch_bytes > kMaxScratchBytes) {
    return ResourceExhausted("Rows of a kernel (" + std::to_string(placed.scratch_bytes) +
                             " bytes) exceed the limit of " + std::to_string(kMaxScratchBytes) +
                             " bytes.");
  }
  placed.rows.emplace(id, std::move(row));
  return Ok();
}

// Keeps the temporaries along one symbolic dim, if there is one, up to some extent.
void ChooseRows(const LoopFunc& func, LoopSchedule& schedule, const FusionLimits& limits) {
  std::int64_t others = 1;
  for (const Stage& stage : func.stages) {
    if (stage.temporaries.empty()) continue;
    std::int64_t elements = 1;
    for (const int dim : stage.loops) {
      const std::optional<std::int64_t> extent = ExtentInTask(func, schedule, dim);
      if (extent) {
        elements *= *extent;
      } else if (schedule.row_dim < 0) {
        schedule.row_dim = dim;
      }
      if (elements > limits.max_kept_elements) break;
    }
    others = std::max(others, elements);
  }
  schedule.row_limit = limits.max_kept_elements / others;
  if (schedule.row_limit == 0) schedule.row_dim = -1;
  if (schedule.row_dim < 0) schedule.row_limit = 0;
}

// A temporary whose row has no known size, if there is one.
std::optional<std::uint32_t> UnplaceableTemporary(const LoopFunc& func,
                                                  const LoopSchedule& schedule) {
  for (const Stage& stage : func.stages) {
    if (stage.temporaries.empty()) continue;
    for (const int dim : stage.loops) {
      if (!KeptExtent(func, schedule, dim)) return stage.temporaries.front().id;
    }
  }
  return std::nullopt;
}

StageShape ShapeOfStage(const LoopFunc& func, const LoopSchedule& schedule, const Stage& stage,
                        const CpuMachine& machine, int max_unroll) {
  StageShape shape;
  if (stage.loops.empty()) return shape;
  // Half as many lanes where all the work is on 64-bit values.
  bool narrow = false;
  for (const BodyInstr& instr : stage.body.instrs) {
    narrow = narrow || (instr.op == BodyOp::kLoad && SizeInBytes(instr.access.dtype) < 8);
  }
  for (const Store& store : stage.stores) narrow = narrow || SizeInBytes(store.access.dtype) < 8;
  shape.width = machine.Lanes(narrow ? DType::kF32 : DType::kF64);
  const std::optional<std::int64_t> extent = ExtentInTask(func, schedule, stage.loops.back());
  while (extent && shape.width > 1 && shape.width / 2 >= *extent) shape.width /= 2;
  const double cost = BodyCost(stage);
  shape.unroll = std::min(max_unroll, cost <= 8 ? 4 : cost <= 24 ? 2 : 1);
  while (extent && shape.unroll > 1 && shape.width * shape.unroll > *extent) shape.unroll /= 2;
  return shape;
}

}  // namespace

Result<LoopRows> PlaceRows(const LoopFunc& func, const LoopSchedule& schedule) {
  LoopRows placed;
  for (const Stage& stage : func.stages) {
    for (const Temporary& temporary : stage.temporaries) {
      if (stage.loops.empty()) continue;
      STOKER_RETURN_IF_ERROR(
          PlaceRow(func, schedule, placed, temporary.id, temporary.dtype, stage.loops, true));
    }
    for (const Reduction& reduction : stage.reductions) {
      std::vector<int> kept;
      for (const int dim : stage.loops) {
        if (!Contains(reduction.over, dim)) kept.push_back(dim);
      }
      if (kept.empty()) continue;
      const DType dtype = reduction.is_arg ? DType::kI64 : reduction.dtype;
      STOKER_RETURN_IF_ERROR(
          PlaceRow(func, schedule, placed, reduction.id, dtype, std::move(kept), false));
    }
  }
  return placed;
}

Result<ScheduledLoop> ScheduleLoop(const LoopFunc& algorithm, const CpuMachine& machine,
                                   int max_unroll) {
  ScheduledLoop scheduled{algorithm, {}};
  auto& [func, schedule] = scheduled;
  CollapseLoops(func);
  SplitLoops(func, machine.tasks);
  ChooseLanes(func, machine.fusion);
  PullOutside(func, ParallelLoops(func));
  SplitStages(func);
  ChooseSplit(func, schedule, machine.tasks);
  ChooseRows(func, schedule, machine.fusion);
  while (const auto id = UnplaceableTemporary(func, schedule)) InlineTemporary(func, *id);
  for (const Stage& stage : func.stages) {
    schedule.stages.push_back(ShapeOfStage(func, schedule, stage, machine, max_unroll));
  }
  return scheduled;
}

LoopFunc WithoutRows(const LoopFunc& func, const LoopSchedule& schedule) {
  LoopFunc result = func;
  for (const Stage& stage : func.stages) {
    if (!Contains(stage.loops, schedule.row_dim)) continue;
    for (const Temporary& temporary : stage.temporaries) InlineTemporary(result, temporary.id);
  }
  return result;
}

Result<LaunchShape> LaunchShapeOf(const LoopFunc& func, const LoopSchedule& schedule,
                                  const CpuMachine& machine) {
  STOKER_TRY(const LoopRows rows, PlaceRows(func, schedule));
  LaunchShape launch;
  const auto num_outer = static_cast<std::ptrdiff_t>(func.num_outer);
  launch.tasks = ProductOf(std::vector<SymDim>(func.dims.begin(), func.dims.begin() + num_outer));
  if (schedule.split_dim >= 0) {
    const SymDim& extent = func.dims[static_cast<std::size_t>(schedule.split_dim)];
    launch.tasks = launch.tasks * SymDim::CeilDiv(extent, schedule.block);
  }
  launch.min_tasks_per_chunk = machine.MinTasksPerChunk(TaskNs(func, schedule));
  launch.scratch_bytes = rows.scratch_bytes;
  DimTable dims;
  for (const SymDim& dim : func.dims) dims.Add(dim);
  for (const Stage& stage : func.stages) {
    dims.Add(stage.body);
    dims.Add(stage.stores);
  }
  launch.dims = std::move(dims).Take();
  return launch;
}

std::string ToString(const LoopSchedule& schedule) {
  std::string text = "schedule loop {\n";
  if (schedule.split_dim >= 0) {
    text += "  task of " + std::to_string(schedule.block) + " along i" +
            std::to_string(schedule.split_dim) + "\n";
  }
  if (schedule.row_dim >= 0) {
    text += "  keeps rows of at most " + std::to_string(schedule.row_limit) + " along i" +
            std::to_string(schedule.row_dim) + "\n";
  }
  for (std::size_t i = 0; i < schedule.stages.size(); ++i) {
    text += "  stage " + std::to_string(i) + ": " + std::to_string(schedule.stages[i].unroll) +
            " x " + std::to_string(schedule.stages[i].width) + " lanes\n";
  }
  return text + "}\n";
}

}  // namespace stoker::cpu
