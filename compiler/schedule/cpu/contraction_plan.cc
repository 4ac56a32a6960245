#include "compiler/schedule/cpu/contraction_plan.h"

#include <algorithm>
#include <optional>

#include "compiler/schedule/cpu/contraction_cut.h"

namespace stoker::codegen {
namespace {

// Rows of A that a task keeps in the second-level cache beside its panels of B.
constexpr std::int64_t kRowsBudgetBytes = 640 << 10;
constexpr std::int64_t kMaxStagedDepth = 16384;
// Rows longer than this are consumed in chunks if not all of them fit into the budget.
constexpr std::int64_t kMaxRowBytes = 6 << 10;
constexpr std::int64_t kChunkBytes = 3 << 10;
constexpr std::int64_t kStagedChunk = 1024;
constexpr std::int64_t kMaxPanelsPerTask = 4;
// B that stays in the second-level cache by itself.
constexpr std::int64_t kSmallRhsBytes = 256 << 10;
// Enough for two to many threads to share evenly.
constexpr std::int64_t kEnoughTasks = 16;
constexpr double kWorthSplittingNs = 20000;
constexpr int kAmxTileRows = AmxTile::kRows;
// Of 16 rows, what a row tile read in place must fill on average; below it, copying is cheaper.
constexpr double kMinTileFill = 0.7;

std::vector<ContractionDim> Merge(const std::vector<ContractionDim>& dims) {
  std::vector<ContractionDim> merged;
  for (const ContractionDim& dim : dims) {
    if (dim.extent == SymDim(1)) continue;
    if (!merged.empty() && merged.back().lhs_stride == dim.extent * dim.lhs_stride) {
      merged.back() = {merged.back().extent * dim.extent, dim.lhs_stride};
    } else {
      merged.push_back(dim);
    }
  }
  if (merged.empty()) merged.push_back({1, 1});
  return merged;
}

std::vector<SymDim> ExtentsOf(const std::vector<ContractionDim>& dims) {
  std::vector<SymDim> extents;
  for (const ContractionDim& dim : dims) extents.push_back(dim.extent);
  return extents;
}

// Rows of a register tile that leave room for one row of B and a broadcast, and for LLVM's
// allocator where there is room: it spills when it has to find the one way.
std::int64_t MaxTileRows(int vectors, const CpuMachine& machine) {
  const std::int64_t spare = machine.num_vector_registers > 16 ? 3 : 1;
  const std::int64_t free = machine.num_vector_registers - vectors - spare;
  return std::clamp<std::int64_t>(free / vectors, 1, 14);
}

bool LastDepthIsMultipleOf(const ContractionPlan& plan, std::int64_t granule) {
  const auto extent = ConstantOf(plan.depth.back().extent);
  return plan.depth.back().lhs_stride == SymDim(1) && extent && *extent % granule == 0;
}

// Of the rows of 16-row tiles along the last row dim.
double TileFill(const ContractionPlan& plan) {
  const std::int64_t extent = Typical(plan.rows.back().extent);
  return static_cast<double>(extent) /
         static_cast<double>(RoundUp(std::max<std::int64_t>(extent, 1), kAmxTileRows));
}

bool MustStage(const ContractionFunc& func, const ContractionPlan& plan) {
  if (func.lhs_dtype != plan.element) return true;
  if (plan.depth.size() == 1 && plan.depth[0].extent == SymDim(1)) {
    return plan.depth_granule > 1;
  }
  if (plan.depth.back().lhs_stride != SymDim(1)) return true;
  if (plan.depth_granule > 1 && !LastDepthIsMultipleOf(plan, plan.depth_granule)) return true;
  if (plan.kernel == MicroKernel::kAmxSplit) return true;
  if (plan.kernel != MicroKernel::kAmx) return false;
  return plan.rows.size() > 1 && TileFill(plan) < kMinTileFill;
}

// Chooses split, inner, segment and segments for tiles of at most `max_rows` rows.
void CutRows(ContractionPlan& plan, std::int64_t max_rows) {
  plan.split = plan.rows.size() - 1;
  plan.inner = 1;
  const auto last = ConstantOf(plan.rows.back().extent);
  // Several whole lines of a narrow image in one tile. A tile of AMX needs one row stride.
  if (!IsAmx(plan.kernel) && plan.rows.size() > 1 && last && *last * 2 <= max_rows) {
    plan.split -= 1;
    plan.inner = *last;
    max_rows /= *last;
  }
  const SymDim& extent = plan.rows[plan.split].extent;
  if (extent.IsConstant()) {
    const std::int64_t size = extent.constant();
    const std::int64_t segments = std::max<std::int64_t>(1, DivUp(size, max_rows));
    plan.segment = std::max<std::int64_t>(1, DivUp(size, segments));
    plan.segments = size == 0 ? 0 : segments;
    plan.long_segments = segments - (plan.segment * segments - size);
  } else {
    plan.segment = max_rows;
    plan.segments = SymDim::CeilDiv(extent, max_rows);
    plan.long_segments = SymDim::FloorDiv(extent, max_rows);
  }
  plan.units = plan.segments;
  for (std::size_t i = 0; i < plan.split; ++i) plan.units = plan.units * plan.rows[i].extent;
}

// Chooses units_per_task, chunk and panels_per_task. `depth`: K, or what is typical for it.
void CutTasks(ContractionPlan& plan, std::int64_t depth) {
  const std::int64_t rows = plan.MaxUnitRows();
  const std::int64_t units = std::max<std::int64_t>(1, Typical(plan.units));
  const std::int64_t row_bytes = std::max<std::int64_t>(1, depth * SizeInBytes(plan.element));
  std::int64_t kept_bytes = row_bytes;  // Of a row, in the cache at one time.
  if (!plan.staged && plan.depth.size() == 1 && plan.depth[0].extent.IsConstant() &&
      row_bytes > kMaxRowBytes && units * rows * row_bytes > kRowsBudgetBytes) {
    const std::int64_t chunks = DivUp(row_bytes, kChunkBytes);
    plan.chunk = RoundUp(DivUp(depth, chunks), 64);
  }
  if (plan.chunk != 0) {
    plan.panels_per_task = kMaxPanelsPerTask;
    kept_bytes = plan.chunk * SizeInBytes(plan.element);
  }
  std::int64_t per_task =
      std::clamp<std::int64_t>(kRowsBudgetBytes / (rows * kept_bytes), 1, units);
  const double unit_ns =
      static_cast<double>(rows * depth * plan.lanes * plan.vectors) * NsPerProduct(plan);
  const std::int64_t columns = Typical(plan.batch) * Typical(plan.panels);
  const auto tasks = [&] { return DivUp(columns, plan.panels_per_task) * DivUp(units, per_task); };
  while (plan.panels_per_task > 1 && tasks() < kEnoughTasks / 2) --plan.panels_per_task;
  // A multiple of `step` keeps AMX's pairs of units together.
  const std::int64_t step = plan.kernel == MicroKernel::kAmx ? 2 : 1;
  if (per_task > step) per_task = per_task / step * step;
  while (plan.panels_per_task == 1 && tasks() < kEnoughTasks && per_task > step &&
         unit_ns * static_cast<double>(per_task) > kWorthSplittingNs) {
    per_task = std::max(step, RoundUp(DivUp(per_task, 2), step));
  }
  // Blocks of equal size.
  per_task = RoundUp(DivUp(units, DivUp(units, per_task)), step);
  plan.units_per_task = per_task;
  plan.task_ns = unit_ns * static_cast<double>(std::min(per_task, units) * plan.panels_per_task);

  const std::int64_t rhs_bytes = columns * plan.lanes * plan.vectors * row_bytes;
  if (rhs_bytes > kSmallRhsBytes) plan.prefetch_parts = DivUp(std::min(per_task, units), step);
}

// Sums first, then AMX's configuration, then copies.
void LayOutScratch(ContractionPlan& plan, const ContractionFunc& func) {
  const bool amx = IsAmx(plan.kernel);
  const std::int64_t unit_rows = amx ? kAmxTileRows : plan.MaxUnitRows();
  plan.unit_bytes = unit_rows * func.rhs.nr * SizeInBytes(func.accumulator);
  const std::int64_t units_kept =
      plan.chunk != 0 ? plan.units_per_task * plan.panels_per_task : (amx ? 2 : 1);
  plan.sums_bytes = RoundUp(units_kept * plan.unit_bytes, 64);
  plan.config_offset = plan.sums_bytes;
  plan.staged_offset = plan.config_offset + (amx ? AmxTile::kConfigBytes : 0);
  if (amx && !plan.runs.one) {
    plan.run_offset = plan.staged_offset;
    plan.total_offset = plan.run_offset + 2 * plan.unit_bytes;
    plan.staged_offset = plan.total_offset + 2 * plan.unit_bytes;
  }
  if (plan.kernel == MicroKernel::kAmxSplit) LayOutSplitScratch(plan, func);
  plan.scratch_bytes = plan.staged_offset;
  if (!plan.staged) return;
  const std::int64_t staged_elements =
      plan.staged_span != 0 ? plan.staged_span
                            : plan.units_per_task * plan.MaxUnitRows() * plan.staged_pitch;
  // One vector more: rows are written in whole vectors.
  plan.scratch_bytes += RoundUp(staged_elements * plan.LhsBytes(), 64) + 64;
}

}  // namespace

Result<ContractionPlan> PlanContraction(const ContractionFunc& func, const CpuMachine& machine) {
  ContractionPlan plan;
  plan.element = func.rhs.dtype;
  plan.lanes = machine.vector_bytes / SizeInBytes(func.accumulator);
  if (func.rhs.dtype == DType::kBF16) {
    if (func.rhs.kr != 2) {
      return InvalidArgument("Packed bf16 needs kr 2; it is " + std::to_string(func.rhs.kr) + ".");
    }
    plan.kernel =
        machine.amx_bf16 && func.rhs.k_multiple == 32 ? MicroKernel::kAmx : MicroKernel::kDotBF16;
    if (plan.kernel == MicroKernel::kDotBF16 && !machine.avx512_bf16) {
      return InvalidArgument("Packed bf16 needs a target with avx512_bf16 or amx_bf16.");
    }
  } else if (func.rhs.dtype == DType::kF32 && func.rhs.kr == 2) {
    if (!machine.amx_bf16 || func.rhs.k_multiple != 32) {
      return InvalidArgument("Packed pairs of f32 need a target with amx_bf16 and K in 32s.");
    }
    plan.kernel = MicroKernel::kAmxSplit;
  } else if (func.rhs.dtype != func.accumulator) {
    return InvalidArgument("Packed " + std::string(Name(func.rhs.dtype)) +
                           " does not accumulate in " + std::string(Name(func.accumulator)) + ".");
  }
  if (func.rhs.nr % plan.lanes != 0) {
    return InvalidArgument("Panels of " + std::to_string(func.rhs.nr) +
                           " columns are not whole vectors of " + std::to_string(plan.lanes) + ".");
  }
  plan.vectors = static_cast<int>(func.rhs.nr / plan.lanes);
  plan.depth_granule = IsAmx(plan.kernel) ? func.rhs.k_multiple : func.rhs.kr;
  plan.rows = Merge(func.m);
  plan.depth = Merge(func.k);
  plan.source_depth = plan.depth;
  plan.staged = MustStage(func, plan);

  const SymDim total_rows = ProductOf(ExtentsOf(func.m));
  const SymDim total_depth = ProductOf(ExtentsOf(func.k));
  const std::int64_t granule = std::max(func.rhs.kr, func.rhs.k_multiple);
  const SymDim padded_depth =
      granule == 1 ? total_depth : SymDim::CeilDiv(total_depth, granule) * SymDim(granule);
  std::int64_t depth = Typical(padded_depth);
  const bool in_span = plan.kernel == MicroKernel::kAmxSplit && CanStageSpan(func, plan);
  if (plan.staged && !in_span) {
    const bool flat = plan.depth.size() == 1;
    const bool fits = padded_depth.IsConstant() && depth <= kMaxStagedDepth;
    if (!fits && !flat) {
      return Unimplemented("A contraction that copies rows of several symbolic or large k dims.");
    }
    if (!fits) plan.chunk = kStagedChunk;
    plan.staged_pitch = RoundUp(fits ? depth : kStagedChunk, plan.depth_granule);
    // A pitch of whole pages would map all rows of a tile to one set of the first-level cache.
    const std::int64_t bytes = plan.staged_pitch * SizeInBytes(plan.element);
    if (plan.kernel == MicroKernel::kAmxSplit) {
      if (!fits) return InvalidArgument("f32 in parts needs a constant K.");
      plan.staged_pitch += plan.depth_granule;
    } else if (bytes % 1024 == 0) {
      plan.staged_pitch += 64 / SizeInBytes(plan.element);
    }
    plan.rows = {{total_rows, plan.staged_pitch}};
    plan.depth = {{padded_depth, 1}};
  }

  CutRows(plan, IsAmx(plan.kernel) ? kAmxTileRows : MaxTileRows(plan.vectors, machine));
  plan.batch = 1;
  for (const ContractionBatchDim& dim : func.batch) plan.batch = plan.batch * dim.extent;
  plan.panels = SymDim::CeilDiv(func.n, func.rhs.nr);
  plan.panel_stride = PanelElements(func.rhs, total_depth) * SymDim(SizeInBytes(func.rhs.dtype));
  if (plan.kernel == MicroKernel::kAmxSplit) {
    CutTasksInParts(plan, depth, in_span);
  } else {
    CutTasks(plan, depth);
    plan.staged_whole = plan.staged && plan.chunk == 0;
  }
  if (IsFloat(func.accumulator)) plan.runs = CutSums(plan, Typical(total_depth));
  plan.blocks = SymDim::CeilDiv(plan.units, plan.units_per_task);
  plan.panel_groups = SymDim::CeilDiv(plan.panels, plan.panels_per_task);
  LayOutScratch(plan, func);
  return plan;
}

std::vector<SymDim> DimsOf(const ContractionFunc& func, const ContractionPlan& plan) {
  DimTable dims;
  for (const SymDim& dim :
       {plan.batch, plan.blocks, plan.panels, plan.panel_groups, plan.panel_stride, plan.segments,
        plan.long_segments, plan.units, func.n, func.lhs_offset}) {
    dims.Add(dim);
  }
  for (const ContractionBatchDim& dim : func.batch) {
    dims.Add(dim.extent);
    dims.Add(dim.lhs_stride);
  }
  for (const auto* list : {&func.m, &plan.source_depth, &plan.rows, &plan.depth}) {
    for (const ContractionDim& dim : *list) {
      dims.Add(dim.extent);
      dims.Add(dim.lhs_stride);
    }
  }
  dims.Add(func.epilogue);
  dims.Add(func.stores);
  return std::move(dims).Take();
}

}  // namespace stoker::codegen
