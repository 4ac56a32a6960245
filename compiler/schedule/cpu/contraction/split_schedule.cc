#include "compiler/schedule/cpu/contraction/split_schedule.h"

#include <algorithm>

#include "compiler/schedule/cpu/launch/sizes.h"

namespace stoker::cpu {
namespace {

constexpr std::int64_t kSplitChunk = 512;
constexpr std::int64_t kMaxUnchunked = 1024;
// Of a span, which is small itself.
constexpr std::int64_t kMaxUnchunkedSpan = 2304;
// A span has no chunks, and sums that are computed again are added up granule by granule: more of
// them would break the bound of NUMERICS.md.
constexpr std::int64_t kMaxSpanDepth = 15360;
// Which share a panel's parts well enough: fewer wait for the panel to be read and split.
constexpr std::int64_t kFewUnits = 8;
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

}  // namespace

bool CanReadSpan(const ContractionFunc& func, const ContractionPlan& plan) {
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

// Splitting a row of A costs as much as half of a panel's products with it: it is shared by all
// panels of a block of rows where a few units fit into the cache over all of K, and otherwise by
// the panels of a group, which is as large as the cache has room for their sums.
void CutBlocksInParts(ContractionPlan& plan, std::int64_t depth, const CpuMachine& machine) {
  const bool in_span = plan.lhs == LhsCopy::kSpan;
  const CpuCacheLimits& caches = machine.caches;
  const std::int64_t rows = plan.MaxUnitRows();
  const std::int64_t units = std::max<std::int64_t>(1, Typical(plan.units));
  constexpr std::int64_t kPair = 2;  // Of units, which are multiplied together.
  const std::int64_t unit_bytes = rows * depth * plan.LhsBytes();
  std::int64_t kept_bytes = unit_bytes;
  const bool whole = in_span || plan.source_depth.size() > 1 || depth <= kMaxUnchunked ||
                     std::min(units, kFewUnits) * unit_bytes <= caches.split_rows_bytes;
  if (!whole || depth > (in_span ? kMaxUnchunkedSpan : kMaxUnchunked)) {
    // Chunks of a span would cut across its lines.
    if (!in_span) {
      plan.chunk = ChunkOf(depth, plan.depth_granule, kSplitChunk);
      plan.panels_per_group = std::max<std::int64_t>(1, Typical(plan.panels));
    }
  }
  if (!whole) {
    kept_bytes = rows * plan.chunk * plan.LhsBytes();
    plan.lhs = LhsCopy::kChunks;
    plan.lhs_pitch = plan.chunk + plan.depth_granule;
  }
  const std::int64_t all_units = RoundUp(units, kPair);
  std::int64_t per_block =
      in_span ? all_units : caches.split_rows_bytes / kept_bytes / kPair * kPair;
  per_block = std::clamp(per_block, kPair, all_units);
  const auto is_too_large = [&] {
    return in_span && MaxSpan(plan, per_block) * kSplitBytes > caches.split_rows_bytes;
  };
  while (plan.chunk == 0 && per_block > kPair && is_too_large()) {
    per_block = std::max(kPair, RoundUp(DivUp(per_block, 2), kPair));
  }
  per_block = RoundUp(EqualParts(units, per_block), kPair);
  const std::int64_t sums_bytes =
      per_block * AmxTile::kRows * plan.lanes * plan.vectors * SizeInBytes(plan.element);
  while (plan.panels_per_group > 1 &&
         plan.panels_per_group * sums_bytes > caches.split_sums_bytes) {
    --plan.panels_per_group;
  }
  plan.panels_per_group = EqualParts(Typical(plan.panels), plan.panels_per_group);
  plan.units_per_block = per_block;
}

}  // namespace stoker::cpu
