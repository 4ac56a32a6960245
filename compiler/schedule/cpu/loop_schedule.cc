#include "compiler/schedule/cpu/loop_schedule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <tuple>

#include "protocol/graph/op_table.h"

namespace stoker::codegen {
namespace {

constexpr std::int64_t kScratchAlignment = 64;
// Lanes written beyond a row by a whole block of vectors.
constexpr std::int64_t kRowPadding = 64;
constexpr std::int64_t kMaxScratchBytes = std::int64_t{1} << 28;
// Points of one task, where tasks can be cut freely: some ten microseconds.
constexpr std::int64_t kTaskPoints = 32768;
constexpr std::int64_t kBlockLanes = 64;
// What a loop of unknown extent is taken to be when costs are compared.
constexpr double kUnknownExtent = 256;

bool Contains(const std::vector<int>& dims, int dim) {
  return std::find(dims.begin(), dims.end(), dim) != dims.end();
}

double ExtentOf(const SymDim& dim) {
  return dim.IsConstant() ? static_cast<double>(dim.constant()) : kUnknownExtent;
}

// ---- Rewriting
// -----------------------------------------------------------------------------------

void RenumberTerms(IndexMap& index, const std::vector<int>& to) {
  for (IndexTerm& term : index.terms) term.dim = to[static_cast<std::size_t>(term.dim)];
  std::sort(index.terms.begin(), index.terms.end(), [](const IndexTerm& x, const IndexTerm& y) {
    return std::tie(x.dim, x.divisor, x.modulus) < std::tie(y.dim, y.divisor, y.modulus);
  });
}

// Gives dim i the number to[i].
void Renumber(LoopFunc& func, const std::vector<int>& to) {
  std::vector<SymDim> dims(func.dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i)
    dims[static_cast<std::size_t>(to[i])] = func.dims[i];
  func.dims = std::move(dims);
  for (Stage& stage : func.stages) {
    for (int& dim : stage.loops) dim = to[static_cast<std::size_t>(dim)];
    for (BodyInstr& instr : stage.body.instrs) {
      if (instr.op == BodyOp::kLoad) RenumberTerms(instr.access.index, to);
      if (instr.op == BodyOp::kIndex) instr.dim = to[static_cast<std::size_t>(instr.dim)];
    }
    for (Store& store : stage.stores) RenumberTerms(store.access.index, to);
    for (Reduction& reduction : stage.reductions) {
      for (int& dim : reduction.over) dim = to[static_cast<std::size_t>(dim)];
    }
  }
}

// The numbering that puts `order` (all dims) in this order.
std::vector<int> NumberingOf(const std::vector<int>& order) {
  std::vector<int> to(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    to[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
  }
  return to;
}

// Makes an outer dim the innermost loop of every stage: outer points are independent, so that they
// may as well be lanes.
void PushInside(LoopFunc& func, int dim) {
  std::vector<int> order;
  for (int i = 0; i < static_cast<int>(func.dims.size()); ++i) {
    if (i == func.num_outer) order.push_back(dim);
    if (i != dim) order.push_back(i);
  }
  if (order.size() < func.dims.size()) order.push_back(dim);
  Renumber(func, NumberingOf(order));
  --func.num_outer;
  for (Stage& stage : func.stages) stage.loops.push_back(func.num_outer);
}

// Makes inner dims that every stage loops over and none reduces outer ones, all but the innermost
// loop.
void PullOutside(LoopFunc& func) {
  std::vector<int> pulled;
  for (int dim = func.num_outer; dim < static_cast<int>(func.dims.size()); ++dim) {
    const bool parallel =
        std::all_of(func.stages.begin(), func.stages.end(), [&](const Stage& stage) {
          const bool reduced =
              std::any_of(stage.reductions.begin(), stage.reductions.end(),
                          [&](const Reduction& r) { return Contains(r.over, dim); });
          return Contains(stage.loops, dim) && stage.loops.back() != dim && !reduced;
        });
    if (parallel) pulled.push_back(dim);
  }
  if (pulled.empty() || func.stages.empty()) return;
  std::vector<int> order;
  for (int dim = 0; dim < func.num_outer; ++dim) order.push_back(dim);
  order.insert(order.end(), pulled.begin(), pulled.end());
  for (int dim = func.num_outer; dim < static_cast<int>(func.dims.size()); ++dim) {
    if (!Contains(pulled, dim)) order.push_back(dim);
  }
  for (Stage& stage : func.stages) {
    std::erase_if(stage.loops, [&](int dim) { return Contains(pulled, dim); });
  }
  Renumber(func, NumberingOf(order));
  func.num_outer += static_cast<int>(pulled.size());
}

// One set of reduced dims a stage. What is written to memory stays in the last part: it may
// overwrite what the others read.
void SplitReductions(LoopFunc& func) {
  std::vector<Stage> stages;
  for (Stage& stage : func.stages) {
    std::vector<std::set<int>> sets;
    for (const Reduction& reduction : stage.reductions) {
      const std::set<int> over(reduction.over.begin(), reduction.over.end());
      if (std::find(sets.begin(), sets.end(), over) == sets.end()) sets.push_back(over);
    }
    for (std::size_t i = 0; i + 1 < sets.size(); ++i) {
      Stage part;
      part.loops = stage.loops;
      part.body = stage.body;
      for (const Reduction& reduction : stage.reductions) {
        if (std::set<int>(reduction.over.begin(), reduction.over.end()) == sets[i]) {
          part.reductions.push_back(reduction);
        }
      }
      stages.push_back(std::move(part));
    }
    if (sets.size() > 1) {
      std::erase_if(stage.reductions, [&](const Reduction& reduction) {
        return std::set<int>(reduction.over.begin(), reduction.over.end()) != sets.back();
      });
    }
    stages.push_back(std::move(stage));
  }
  func.stages = std::move(stages);
}

// Computes a temporary again where it is used, instead of keeping it.
void InlineTemporary(LoopFunc& func, std::uint32_t id) {
  Body source;
  std::uint32_t value = 0;
  for (Stage& stage : func.stages) {
    std::vector<std::uint32_t> moved;  // Instruction of the old body -> of the new one.
    Body body;
    for (const BodyInstr& instr : stage.body.instrs) {
      if (instr.op == BodyOp::kInput && instr.input == id) {
        const auto base = static_cast<std::uint32_t>(body.instrs.size());
        for (BodyInstr copy : source.instrs) {
          for (std::uint32_t& arg : copy.args) arg += base;
          body.instrs.push_back(std::move(copy));
        }
        moved.push_back(base + value);
        continue;
      }
      moved.push_back(static_cast<std::uint32_t>(body.instrs.size()));
      body.instrs.push_back(instr);
      for (std::uint32_t& arg : body.instrs.back().args) arg = moved[arg];
    }
    stage.body = std::move(body);
    for (Store& store : stage.stores) store.value = moved[store.value];
    for (Temporary& temporary : stage.temporaries) temporary.value = moved[temporary.value];
    for (Reduction& reduction : stage.reductions) reduction.value = moved[reduction.value];
    for (const Temporary& temporary : stage.temporaries) {
      if (temporary.id != id) continue;
      source = stage.body;
      value = temporary.value;
    }
    std::erase_if(stage.temporaries, [&](const Temporary& t) { return t.id == id; });
  }
}

// ---- Lanes
// ---------------------------------------------------------------------------------------

// How often memory is touched when the lanes of every stage lie along its last loop, or, with
// `outer` >= 0, along that outer dim. A contiguous vector counts 1, a strided one one per lane.
double MemoryCost(const LoopFunc& func, int outer, int width) {
  double cost = 0;
  const auto add = [&](const Access& access, int lane, double points) {
    if (lane < 0) {
      cost += points;
      return;
    }
    bool uniform = access.indirect.empty();
    bool contiguous = access.indirect.empty();
    for (const IndexTerm& term : access.index.terms) {
      if (term.dim != lane) continue;
      uniform = false;
      contiguous = contiguous && term.coefficient == SymDim(1) && term.divisor == 1 &&
                   (term.modulus == 0 || term.modulus % width == 0);
    }
    cost += uniform || contiguous ? points / width : points;
  };
  for (const Stage& stage : func.stages) {
    const int lane = outer >= 0 ? outer : stage.loops.empty() ? -1 : stage.loops.back();
    double points = outer >= 0 ? ExtentOf(func.dims[static_cast<std::size_t>(outer)]) : 1;
    for (const int dim : stage.loops) points *= ExtentOf(func.dims[static_cast<std::size_t>(dim)]);
    // Lanes that stay empty cost as much as full ones.
    if (lane >= 0) {
      const double extent = std::max(1.0, ExtentOf(func.dims[static_cast<std::size_t>(lane)]));
      points *= std::ceil(extent / width) * width / extent;
    }
    for (const BodyInstr& instr : stage.body.instrs) {
      if (instr.op == BodyOp::kLoad) add(instr.access, lane, points);
    }
    for (const Store& store : stage.stores) add(store.access, lane, points);
    cost += static_cast<double>(stage.temporaries.size()) * points / width;
  }
  if (outer >= 0) cost /= std::max(1.0, ExtentOf(func.dims[static_cast<std::size_t>(outer)]));
  return cost;
}

void ChooseLanes(LoopFunc& func, int width) {
  double best_cost = MemoryCost(func, -1, width);
  int best = -1;
  for (int dim = func.num_outer - 1; dim >= 0; --dim) {
    const double cost = MemoryCost(func, dim, width);
    if (cost < best_cost * 0.75) {  // Only a clear gain is worth the longer rows in scratch.
      best = dim;
      best_cost = cost;
    }
  }
  if (best >= 0) PushInside(func, best);
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

double TaskNs(const LoopSchedule& schedule, const CpuMachine& machine) {
  const LoopFunc& func = schedule.func;
  double ns = 5;
  for (const Stage& stage : func.stages) {
    const StageShape shape = ShapeOfStage(schedule, stage, machine);
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

void ChooseSplit(LoopSchedule& schedule) {
  const LoopFunc& func = schedule.func;
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
  const auto lanes = static_cast<std::int64_t>(static_cast<double>(kTaskPoints) / others);
  const std::int64_t block = std::max(lanes / kBlockLanes, std::int64_t{1}) * kBlockLanes;
  const SymDim& extent = func.dims[static_cast<std::size_t>(dim)];
  if (extent.IsConstant() && extent.constant() <= block) return;
  schedule.split_dim = dim;
  schedule.block = block;
}

// Elements of a row along `dim`, or nothing if that is not known now.
std::optional<std::int64_t> RowExtent(const LoopSchedule& schedule, int dim) {
  if (dim == schedule.split_dim) return schedule.block;
  const SymDim& extent = schedule.func.dims[static_cast<std::size_t>(dim)];
  if (!extent.IsConstant()) return std::nullopt;
  return extent.constant();
}

Status PlaceRow(LoopSchedule& schedule, std::uint32_t id, DType dtype, std::vector<int> dims) {
  ScratchRow row;
  row.dtype = dtype;
  row.dims = std::move(dims);
  row.strides.resize(row.dims.size());
  std::int64_t elements = 1;
  for (std::size_t i = row.dims.size(); i-- > 0;) {
    const std::optional<std::int64_t> extent = RowExtent(schedule, row.dims[i]);
    if (!extent) {
      return Unimplemented("A reduction keeps dim " + std::to_string(row.dims[i]) + " of extent " +
                           schedule.func.dims[static_cast<std::size_t>(row.dims[i])].ToString() +
                           ", which is not known when the kernel is compiled.");
    }
    row.strides[i] = elements;
    elements *= *extent;
    if (elements > kMaxScratchBytes) break;
  }
  row.offset = schedule.launch.scratch_bytes;
  const std::int64_t bytes = (elements + kRowPadding) * SizeInBytes(dtype);
  schedule.launch.scratch_bytes +=
      (bytes + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment;
  if (schedule.launch.scratch_bytes > kMaxScratchBytes) {
    return ResourceExhausted("Rows of a kernel (" + std::to_string(schedule.launch.scratch_bytes) +
                             " bytes) exceed the limit of " + std::to_string(kMaxScratchBytes) +
                             " bytes.");
  }
  schedule.rows.emplace(id, std::move(row));
  return Ok();
}

Status PlaceRows(LoopSchedule& schedule) {
  for (const Stage& stage : schedule.func.stages) {
    for (const Temporary& temporary : stage.temporaries) {
      if (stage.loops.empty()) continue;
      STOKER_RETURN_IF_ERROR(PlaceRow(schedule, temporary.id, temporary.dtype, stage.loops));
    }
    for (const Reduction& reduction : stage.reductions) {
      std::vector<int> kept;
      for (const int dim : stage.loops) {
        if (!Contains(reduction.over, dim)) kept.push_back(dim);
      }
      if (kept.empty()) continue;
      const DType dtype = reduction.is_arg ? DType::kI64 : reduction.dtype;
      STOKER_RETURN_IF_ERROR(PlaceRow(schedule, reduction.id, dtype, std::move(kept)));
    }
  }
  return Ok();
}

// A temporary whose row has no known size, if there is one.
std::optional<std::uint32_t> UnplaceableTemporary(const LoopSchedule& schedule) {
  for (const Stage& stage : schedule.func.stages) {
    if (stage.temporaries.empty()) continue;
    for (const int dim : stage.loops) {
      if (!RowExtent(schedule, dim)) return stage.temporaries.front().id;
    }
  }
  return std::nullopt;
}

}  // namespace

Result<LoopSchedule> ScheduleLoop(const LoopFunc& func, const CpuMachine& machine) {
  LoopSchedule schedule;
  schedule.func = func;
  ChooseLanes(schedule.func, machine.Lanes(DType::kF32));
  PullOutside(schedule.func);
  SplitReductions(schedule.func);
  ChooseSplit(schedule);
  while (const auto id = UnplaceableTemporary(schedule)) InlineTemporary(schedule.func, *id);
  STOKER_RETURN_IF_ERROR(PlaceRows(schedule));

  const LoopFunc& final = schedule.func;
  LaunchShape& launch = schedule.launch;
  const auto num_outer = static_cast<std::ptrdiff_t>(final.num_outer);
  launch.tasks = ProductOf(std::vector<SymDim>(final.dims.begin(), final.dims.begin() + num_outer));
  if (schedule.split_dim >= 0) {
    const SymDim& extent = final.dims[static_cast<std::size_t>(schedule.split_dim)];
    launch.tasks = launch.tasks * SymDim::CeilDiv(extent, schedule.block);
  }
  launch.min_tasks_per_chunk = MinTasksPerChunk(TaskNs(schedule, machine));
  DimTable dims;
  for (const SymDim& dim : final.dims) dims.Add(dim);
  for (const Stage& stage : final.stages) {
    dims.Add(stage.body);
    dims.Add(stage.stores);
  }
  launch.dims = std::move(dims).Take();
  return schedule;
}

StageShape ShapeOfStage(const LoopSchedule& schedule, const Stage& stage,
                        const CpuMachine& machine) {
  StageShape shape;
  if (stage.loops.empty()) return shape;
  // Half as many lanes where all the work is on 64-bit values.
  bool narrow = false;
  for (const BodyInstr& instr : stage.body.instrs) {
    narrow = narrow || (instr.op == BodyOp::kLoad && SizeInBytes(instr.access.dtype) < 8);
  }
  for (const Store& store : stage.stores) narrow = narrow || SizeInBytes(store.access.dtype) < 8;
  shape.width = machine.Lanes(narrow ? DType::kF32 : DType::kF64);
  const std::optional<std::int64_t> extent = RowExtent(schedule, stage.loops.back());
  while (extent && shape.width > 1 && shape.width / 2 >= *extent) shape.width /= 2;
  const double cost = BodyCost(stage);
  shape.unroll = cost <= 8 ? 4 : cost <= 24 ? 2 : 1;
  while (extent && shape.unroll > 1 && shape.width * shape.unroll > *extent) shape.unroll /= 2;
  return shape;
}

}  // namespace stoker::codegen
