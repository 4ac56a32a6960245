#include "compiler/schedule/cpu/contraction_cut.h"

#include <algorithm>
#include <vector>

namespace stoker::codegen {
namespace {

// Rows of A in parts, which share the second-level cache with two panels.
constexpr std::int64_t kRowsBudgetBytes = 1152 << 10;
constexpr std::int64_t kSplitChunk = 512;
constexpr std::int64_t kMaxUnchunked = 1024;
// Of a span, which is small itself.
constexpr std::int64_t kMaxUnchunkedSpan = 2304;
// A span has no chunks, and sums that are computed again are added up granule by granule: more of
// them would break the bound of NUMERICS.md.
constexpr std::int64_t kMaxSpanDepth = 15360;
constexpr std::int64_t kSumsBudgetBytes = 192 << 10;
constexpr std::int64_t kMaxPanelsPerTask = 8;
// Enough for two to many threads to share evenly; fewer where each has to split A again.
constexpr std::int64_t kEnoughTasks = 16;
constexpr std::int64_t kEnoughChunkedTasks = 4;
constexpr double kWorthCuttingNs = 20000;
// Of 16 rows, what a tile of a span must fill: its rows lie in one line of the image.
constexpr double kMinSpanFill = 0.7;

// The longest chunk of at most `most` that cuts K into equal chunks, or `most`.
std::int64_t ChunkOf(std::int64_t depth, std::int64_t granule, std::int64_t most) {
  const std::int64_t granules = depth / granule;
  for (std::int64_t chunk = most / granule; chunk * granule * 2 >= most; --chunk) {
    if (granules % chunk == 0) return chunk * granule;
  }
  return most;
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

// The largest span of a task.
std::int64_t MaxSpan(const ContractionPlan& plan, std::int64_t per_task) {
  const std::int64_t units = plan.units.constant();
  const std::int64_t depth = plan.ConstantDepthSpan();
  std::int64_t most = 0;
  for (std::int64_t first = 0; first < units; first += per_task) {
    const std::int64_t last_row = FirstRowOf(plan, std::min(first + per_task, units)) - 1;
    most = std::max(
        most, OffsetOfRow(plan, last_row) - OffsetOfRow(plan, FirstRowOf(plan, first)) + depth);
  }
  return most;
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

double NsPerProduct(const ContractionPlan& plan) {
  const double per_cycle = plan.kernel == MicroKernel::kAmx        ? 512
                           : plan.kernel == MicroKernel::kAmxSplit ? 512 / 6.0
                           : plan.kernel == MicroKernel::kDotBF16  ? 32
                                                                   : 2.0 * plan.lanes;
  constexpr double kCyclesPerNs = 3;
  return 1 / (per_cycle * kCyclesPerNs);
}

bool CanStageSpan(const ContractionFunc& func, const ContractionPlan& plan) {
  if (plan.depth.size() < 2 || func.lhs_dtype != DType::kF32) return false;
  const std::int64_t granule = plan.depth_granule;
  const auto whole_granules = [&](const SymDim& dim) {
    return dim.IsConstant() && dim.constant() >= 0 && dim.constant() % granule == 0;
  };
  if (!whole_granules(plan.depth.back().extent)) return false;
  for (std::size_t i = 0; i + 1 < plan.depth.size(); ++i) {
    if (!plan.depth[i].extent.IsConstant() || !whole_granules(plan.depth[i].lhs_stride)) {
      return false;
    }
  }
  // Later rows lie later, so that a task's first and last row bound its span.
  std::int64_t inner = 0;
  for (std::size_t i = plan.rows.size(); i-- > 0;) {
    const ContractionDim& dim = plan.rows[i];
    if (!dim.extent.IsConstant() || dim.extent.constant() == 0) return false;
    if (!whole_granules(dim.lhs_stride) || dim.lhs_stride.constant() < inner) return false;
    inner += (dim.extent.constant() - 1) * dim.lhs_stride.constant();
  }
  if (plan.ConstantDepth() > kMaxSpanDepth) return false;
  const std::int64_t line = plan.rows.back().extent.constant();
  const std::int64_t tiles = RoundUp(line, AmxTile::kRows);
  return static_cast<double>(line) >= kMinSpanFill * static_cast<double>(tiles);
}

// Splitting A costs as much as some 2% of a panel's products: it is shared by all panels of a block
// of rows where those fit into the cache over all of K, and by the panels of a task otherwise.
void CutTasksInParts(ContractionPlan& plan, std::int64_t depth, bool in_span) {
  const std::int64_t rows = plan.MaxUnitRows();
  const std::int64_t units = std::max<std::int64_t>(1, Typical(plan.units));
  constexpr std::int64_t kPair = 2;  // Of units, which are multiplied together.
  const std::int64_t unit_bytes = rows * depth * plan.LhsBytes();
  std::int64_t kept_bytes = unit_bytes;
  plan.staged_whole = in_span || plan.source_depth.size() > 1 || depth <= kMaxUnchunked ||
                      units * unit_bytes <= kRowsBudgetBytes;
  if (!plan.staged_whole || depth > (in_span ? kMaxUnchunkedSpan : kMaxUnchunked)) {
    // Chunks of a span would cut across its lines.
    if (!in_span) {
      plan.chunk = ChunkOf(depth, plan.depth_granule, kSplitChunk);
      plan.panels_per_task = kMaxPanelsPerTask;
    }
  }
  if (!plan.staged_whole) {
    kept_bytes = rows * plan.chunk * plan.LhsBytes();
    plan.staged_pitch = plan.chunk + plan.depth_granule;
    plan.rows = {{plan.rows[0].extent, plan.staged_pitch}};
  }
  const std::int64_t all_units = RoundUp(units, kPair);
  std::int64_t per_task = in_span ? all_units : kRowsBudgetBytes / kept_bytes / kPair * kPair;
  per_task = std::clamp(per_task, kPair, all_units);
  const double unit_ns =
      static_cast<double>(rows * depth * plan.lanes * plan.vectors) * NsPerProduct(plan);
  const std::int64_t columns = Typical(plan.batch) * Typical(plan.panels);
  const auto tasks = [&] { return DivUp(columns, plan.panels_per_task) * DivUp(units, per_task); };
  const auto too_few = [&] {
    return tasks() < kEnoughTasks && unit_ns * static_cast<double>(per_task) > kWorthCuttingNs;
  };
  const auto too_large = [&] {
    return in_span && MaxSpan(plan, per_task) * kSplitBytes > kRowsBudgetBytes;
  };
  while (plan.chunk == 0 && per_task > kPair && (too_few() || too_large())) {
    per_task = std::max(kPair, RoundUp(DivUp(per_task, 2), kPair));
  }
  per_task = RoundUp(DivUp(units, DivUp(units, per_task)), kPair);
  if (in_span) plan.staged_span = MaxSpan(plan, per_task);
  const std::int64_t sums_bytes =
      per_task * AmxTile::kRows * plan.lanes * plan.vectors * SizeInBytes(plan.element);
  while (plan.panels_per_task > 1 &&
         (plan.panels_per_task * sums_bytes > kSumsBudgetBytes || tasks() < kEnoughChunkedTasks)) {
    --plan.panels_per_task;
  }
  plan.units_per_task = per_task;
  plan.task_ns = unit_ns * static_cast<double>(std::min(per_task, units) * plan.panels_per_task);
}

void LayOutSplitScratch(ContractionPlan& plan, const ContractionFunc& func) {
  const std::int64_t depth = plan.ConstantDepth();  // layout.cc asks for nothing else.
  const std::int64_t block_bytes = plan.chunk != 0 ? 2 * plan.unit_bytes : 0;
  plan.block_offset = plan.chunk != 0 ? plan.staged_offset : 0;
  plan.ready_offset = plan.staged_offset + block_bytes;
  plan.deferred_offset = plan.ready_offset + 64;
  plan.split_offset = plan.deferred_offset + 64;
  plan.split_bytes = (plan.chunk != 0 ? plan.chunk : depth) * func.rhs.nr * kSplitBytes;
  plan.row_offset = plan.split_offset + 2 * plan.split_bytes;
  // Two vectors more: the padding to a granule is written in whole vectors.
  const bool copies_rows = plan.source_depth.size() > 1 && plan.staged_span == 0;
  plan.staged_offset =
      plan.row_offset + (copies_rows ? depth * SizeInBytes(plan.element) + 128 : 0);
}

}  // namespace stoker::codegen
