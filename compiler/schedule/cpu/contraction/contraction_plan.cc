#include "compiler/schedule/cpu/contraction/contraction_plan.h"

#include <algorithm>

#include "compiler/schedule/cpu/launch/sizes.h"

namespace stoker::cpu {
namespace {

constexpr std::size_t kNone = ~std::size_t{0};
// Of an image, at most, and the channels at least, for lines of which some columns are left out.
constexpr std::int64_t kMaxColumns = 16;
constexpr std::int64_t kMinColumnDepth = 64;

struct MergedDims {
  std::vector<ContractionDim> dims;
  std::vector<std::size_t> places;  // Of each dim that is one by itself; kNone of others.
};

// `apart`: a dim that the one after it is not merged with.
MergedDims Merge(const std::vector<ContractionDim>& dims, std::size_t apart = kNone) {
  MergedDims merged;
  for (const ContractionDim& dim : dims) {
    merged.places.push_back(kNone);
    if (dim.extent == SymDim(1)) continue;
    const bool may_merge = !merged.dims.empty() && merged.places.size() != apart + 2;
    if (may_merge && merged.dims.back().lhs_stride == dim.extent * dim.lhs_stride) {
      merged.dims.back() = {merged.dims.back().extent * dim.extent, dim.lhs_stride};
      std::replace(merged.places.begin(), merged.places.end(), merged.dims.size() - 1, kNone);
    } else {
      merged.places.back() = merged.dims.size();
      merged.dims.push_back(dim);
    }
  }
  if (merged.dims.empty()) merged.dims.push_back({1, 1});
  return merged;
}

// K with a dim of its own for the columns of an image so narrow that what its zeros would cost is
// worth code of its own.
struct Taps {
  std::vector<ContractionDim> dims;
  std::vector<Halo> halos;      // Of dims that are a window's alone.
  std::size_t columns = kNone;  // The dim, if there is one.
};

Taps TapsOf(const ContractionFunc& func, MicroKernel kernel, std::int64_t granule) {
  Taps taps;
  taps.dims = func.k;
  for (Halo halo : func.halos) {
    const std::size_t behind = func.k.size() - 1 - halo.k;
    std::int64_t channels = behind == 0 ? halo.inner : 1;
    if (behind == 1 && halo.inner == 1) channels = Typical(func.k.back().extent);
    const bool is_worth_it = !IsAmx(kernel) && halo.m + 1 == func.m.size() &&
                             func.m.back().extent.constant() <= kMaxColumns &&
                             channels >= kMinColumnDepth && channels % granule == 0;
    if (is_worth_it) {
      taps.columns = halo.k;
      if (halo.inner != 1) {
        ContractionDim& window = taps.dims.back();
        const ContractionDim inner = {halo.inner, window.lhs_stride};
        window = {window.extent.constant() / halo.inner, window.lhs_stride * halo.inner};
        taps.dims.push_back(inner);
        halo.inner = 1;
      }
    }
    if (halo.inner == 1) taps.halos.push_back(halo);
  }
  return taps;
}

void PlaceHalos(const ContractionFunc& func, ContractionPlan& plan) {
  const Taps taps = TapsOf(func, plan.kernel, plan.depth_granule);
  const std::vector<std::size_t> rows = Merge(func.m).places;
  const std::vector<std::size_t> depth = Merge(taps.dims, taps.columns).places;
  for (Halo halo : taps.halos) {
    const bool is_of_columns = halo.k == taps.columns;
    halo.m = rows[halo.m];
    halo.k = depth[halo.k];
    if (halo.m == kNone || halo.k == kNone || halo.k + 1 >= plan.depth.size()) continue;
    if (is_of_columns) plan.column_halo = halo;
    if (halo.m <= plan.split) plan.halos.push_back(halo);
  }
}

std::vector<SymDim> ExtentsOf(const std::vector<ContractionDim>& dims) {
  std::vector<SymDim> extents;
  for (const ContractionDim& dim : dims) extents.push_back(dim.extent);
  return extents;
}

// Elements of A from a flat row of C on.
std::int64_t OffsetOfRow(const ContractionPlan& plan, std::int64_t row) {
  std::int64_t offset = 0;
  for (std::size_t i = plan.rows.size(); i-- > 0;) {
    const std::int64_t extent = plan.rows[i].extent.constant();
    offset += row % extent * plan.rows[i].lhs_stride.constant();
    row /= extent;
  }
  return offset;
}

// First rows of units are where segments of lines begin; see CutRows.
std::int64_t FirstRowOf(const ContractionPlan& plan, std::int64_t unit) {
  const std::int64_t segments = plan.segments.constant();
  const std::int64_t segment = unit % segments;
  const std::int64_t shorter = std::max<std::int64_t>(0, segment - plan.long_segments.constant());
  return unit / segments * plan.rows[plan.split].extent.constant() + segment * plan.segment -
         shorter;
}

void LayOutSplitScratch(ContractionPlan& plan, const ContractionFunc& func) {
  const std::int64_t depth = plan.ConstantDepth();  // layout.cc asks for nothing else.
  const std::int64_t block_bytes = plan.chunk != 0 ? 2 * plan.unit_bytes : 0;
  plan.block_offset = plan.chunk != 0 ? plan.staged_offset : 0;
  plan.ready_offset = plan.staged_offset + block_bytes;
  plan.split_offset = plan.ready_offset + 64;
  plan.split_bytes = (plan.chunk != 0 ? plan.chunk : depth) * func.rhs.nr * kSplitBytes;
  plan.row_offset = plan.split_offset + 2 * plan.split_bytes;
  // Two vectors more: the padding to a granule is written in whole vectors.
  const bool copies_rows = plan.source_depth.size() > 1 && plan.staged_span == 0;
  plan.staged_offset =
      plan.row_offset + (copies_rows ? depth * SizeInBytes(plan.element) + 128 : 0);
}

// Sums first, then AMX's configuration and whose epilogue it has to run, then copies.
void LayOutScratch(ContractionPlan& plan, const ContractionFunc& func) {
  const bool amx = IsAmx(plan.kernel);
  const std::int64_t unit_rows = amx ? AmxTile::kRows : plan.MaxUnitRows();
  plan.unit_bytes = unit_rows * func.rhs.nr * SizeInBytes(func.accumulator);
  const std::int64_t units_kept =
      plan.chunk != 0 ? plan.units_per_block * plan.panels_per_group : (amx ? 2 : 1);
  plan.sums_bytes = RoundUp(units_kept * plan.unit_bytes, 64);
  plan.config_offset = plan.sums_bytes;
  plan.deferred_offset = plan.config_offset + AmxTile::kConfigBytes;
  plan.staged_offset = amx ? plan.deferred_offset + 64 : plan.config_offset;
  if (amx && !plan.runs.one) {
    plan.run_offset = plan.staged_offset;
    plan.total_offset = plan.run_offset + 2 * plan.unit_bytes;
    plan.staged_offset = plan.total_offset + 2 * plan.unit_bytes;
  }
  if (plan.kernel == MicroKernel::kAmxSplit) LayOutSplitScratch(plan, func);
  plan.scratch_bytes = plan.staged_offset;
  if (plan.lhs == LhsCopy::kNone) return;
  const std::int64_t staged_units = plan.units_per_block + (plan.last_tiles.empty() ? 0 : 1);
  const std::int64_t staged_elements =
      plan.staged_span != 0 ? plan.staged_span : staged_units * plan.MaxUnitRows() * plan.lhs_pitch;
  // One vector more: rows are written in whole vectors.
  plan.scratch_bytes += RoundUp(staged_elements * plan.LhsBytes(), 64) + 64;
}

}  // namespace

std::int64_t ContractionPlan::ConstantDepth() const {
  std::int64_t elements = 1;
  for (const ContractionDim& dim : depth) elements *= dim.extent.constant();
  return elements;
}

std::int64_t ContractionPlan::ConstantDepthSpan() const {
  std::int64_t span = 1;
  for (const ContractionDim& dim : depth) {
    span += (dim.extent.constant() - 1) * dim.lhs_stride.constant();
  }
  return span;
}

ContractionPlan PlanOperands(const ContractionFunc& func, MicroKernel kernel,
                             const CpuMachine& machine) {
  ContractionPlan plan;
  plan.kernel = kernel;
  plan.element = func.rhs.dtype;
  plan.lanes = machine.vector_bytes / SizeInBytes(func.accumulator);
  plan.vectors = static_cast<int>(func.rhs.nr / plan.lanes);
  plan.registers = machine.num_vector_registers;
  plan.depth_granule = IsAmx(kernel) ? func.rhs.k_multiple : func.rhs.kr;
  plan.rows = Merge(func.m).dims;
  const Taps taps = TapsOf(func, kernel, plan.depth_granule);
  plan.depth = Merge(taps.dims, taps.columns).dims;
  plan.source_depth = plan.depth;
  plan.batch = 1;
  for (const ContractionBatchDim& dim : func.batch) plan.batch = plan.batch * dim.extent;
  plan.panels = SymDim::CeilDiv(func.n, func.rhs.nr);
  plan.panel_stride = PanelElements(func.rhs, DepthOf(func)) * SymDim(SizeInBytes(func.rhs.dtype));
  return plan;
}

SymDim DepthOf(const ContractionFunc& func) { return ProductOf(ExtentsOf(func.k)); }

SymDim PaddedDepth(const ContractionFunc& func) {
  const SymDim depth = DepthOf(func);
  const std::int64_t granule = std::max(func.rhs.kr, func.rhs.k_multiple);
  return granule == 1 ? depth : SymDim::CeilDiv(depth, granule) * SymDim(granule);
}

void ReadCopy(ContractionPlan& plan, const ContractionFunc& func) {
  plan.rows = {{ProductOf(ExtentsOf(func.m)), plan.lhs_pitch}};
  plan.depth = {{PaddedDepth(func), 1}};
}

void CutRows(ContractionPlan& plan) {
  std::int64_t max_rows = plan.tile_rows;
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

// The largest span of a block.
std::int64_t MaxSpan(const ContractionPlan& plan, std::int64_t units_per_block) {
  const std::int64_t units = plan.units.constant();
  const std::int64_t depth = plan.ConstantDepthSpan();
  std::int64_t most = 0;
  for (std::int64_t first = 0; first < units; first += units_per_block) {
    const std::int64_t last_row = FirstRowOf(plan, std::min(first + units_per_block, units)) - 1;
    most = std::max(
        most, OffsetOfRow(plan, last_row) - OffsetOfRow(plan, FirstRowOf(plan, first)) + depth);
  }
  return most;
}

ContractionPlan PlanContraction(const ContractionFunc& func, const ContractionSchedule& schedule,
                                const CpuMachine& machine) {
  ContractionPlan plan = PlanOperands(func, schedule.kernel, machine);
  static_cast<ContractionSchedule&>(plan) = schedule;
  if (plan.lhs == LhsCopy::kWhole || plan.lhs == LhsCopy::kChunks) ReadCopy(plan, func);
  CutRows(plan);
  if (plan.lhs == LhsCopy::kNone) PlaceHalos(func, plan);
  if (plan.lhs == LhsCopy::kSpan) plan.staged_span = MaxSpan(plan, plan.units_per_block);
  plan.units_per_step = IsAmx(plan.kernel) ? 2 : 1;
  plan.steps_per_block = DivUp(plan.units_per_block, plan.units_per_step);
  plan.steps = SymDim::CeilDiv(plan.units, plan.units_per_step);
  LayOutScratch(plan, func);
  return plan;
}

std::vector<SymDim> DimsOf(const ContractionFunc& func, const ContractionPlan& plan) {
  DimTable dims;
  for (const SymDim& dim : {plan.batch, plan.steps, plan.panels, plan.panel_stride, plan.segments,
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

}  // namespace stoker::cpu
