#include "compiler/schedule/cpu/contraction/contraction_schedule.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "compiler/schedule/cpu/contraction/contraction_plan.h"
#include "compiler/schedule/cpu/contraction/split_schedule.h"
#include "compiler/schedule/cpu/launch/sizes.h"

namespace stoker::cpu {
namespace {

constexpr std::int64_t kMaxCopiedDepth = 16384;
constexpr std::int64_t kCopiedChunk = 1024;
// Of a call that reads chunks of K.
constexpr std::int64_t kPanelsPerCall = 6;
constexpr std::int64_t kMaxPanelsPerGroup = 4;
constexpr std::int64_t kFewParts = 3;
// Multiply-adds of a product so small that machine code that would be one hundredth faster takes
// longer to make than it saves in a thousand calls.
constexpr std::int64_t kSmallProduct = std::int64_t{1} << 27;
// Enough products between two branches to hide them.
constexpr std::int64_t kProductsPerIteration = 112;
constexpr std::int64_t kSmallProductsPerIteration = 56;
// Of the rows that registers allow, what the tile of a small product must have to be as fast, and
// the products of a tile of any other.
constexpr double kMinTileRows = 0.6;
constexpr std::int64_t kMinTileProducts = 16;
// Products that hide the latency of one, in a tile that leaves half of the registers to totals.
constexpr std::int64_t kMinProductsWithTotals = 12;
// Of 16 rows, what a row tile read in place must fill on average; below it, copying is cheaper.
constexpr double kMinTileFill = 0.7;

// Rows of a register tile that leave room for one row of B and a broadcast, and for LLVM's
// allocator where there is room: it spills when it has to find the one way.
std::int64_t MaxTileRows(int vectors, const CpuMachine& machine) {
  const std::int64_t spare = machine.num_vector_registers > 16 ? 3 : 1;
  const std::int64_t free = machine.num_vector_registers - vectors - spare;
  return std::clamp<std::int64_t>(free / vectors, 1, 14);
}

// The most rows, down to `least`, of tiles that are all equal, so that there is one to emit; `most`
// where there are none.
std::int64_t EqualTileRows(const ContractionPlan& plan, std::int64_t least, std::int64_t most) {
  const auto extent = ConstantOf(plan.rows.back().extent);
  if (!extent || *extent <= most) return most;
  for (std::int64_t rows = most; rows >= least; --rows) {
    if (*extent % rows == 0) return rows;
  }
  return most;
}

// Of tiles beside whose sums registers hold the totals of runs, which are then added without a
// detour through memory; 0 where larger tiles are faster: there are too few registers for totals,
// or these tiles would have too few rows, or one larger tile takes all and waits for B once.
std::int64_t RowsWithTotals(const ContractionPlan& plan, std::int64_t most) {
  const std::int64_t least = DivUp(kMinProductsWithTotals, plan.vectors);
  const std::int64_t rows = std::min(most, plan.MaxRowsWithTotals());
  if (plan.runs.one || rows < least) return 0;
  const auto all = ConstantOf(plan.rows.back().extent);
  if (all && *all > rows) {
    const bool is_one_tile = plan.rows.size() == 1 && *all <= most;
    if (is_one_tile || *all / DivUp(*all, rows) < least) return 0;
  }
  return EqualTileRows(plan, least, rows);
}

// The register tile, of at most `tile_rows` rows.
void ChooseTile(ContractionPlan& plan, const ContractionFunc& func, const CpuMachine& machine,
                std::int64_t tile_rows) {
  if (IsAmx(plan.kernel)) {
    plan.tile_rows = std::min<std::int64_t>(tile_rows, AmxTile::kRows);
    return;
  }
  std::int64_t products = Typical(DepthOf(func)) * Typical(func.n);
  for (const ContractionDim& dim : plan.rows) products *= Typical(dim.extent);
  const bool is_small = products <= kSmallProduct;
  plan.products_per_iteration = is_small ? kSmallProductsPerIteration : kProductsPerIteration;
  const std::int64_t most = std::min(tile_rows, MaxTileRows(plan.vectors, machine));
  if (const std::int64_t rows = RowsWithTotals(plan, most); rows != 0) {
    plan.tile_rows = rows;
    return;
  }
  auto least = static_cast<std::int64_t>(std::ceil(static_cast<double>(most) * kMinTileRows));
  if (!is_small) least = std::max(least, DivUp(kMinTileProducts, plan.vectors));
  plan.tile_rows = EqualTileRows(plan, least, most);
}

bool LastDepthIsMultipleOf(const ContractionPlan& plan, std::int64_t granule) {
  const auto extent = ConstantOf(plan.depth.back().extent);
  return plan.depth.back().lhs_stride == SymDim(1) && extent && *extent % granule == 0;
}

// Of the rows of 16-row tiles along the last row dim.
double TileFill(const ContractionPlan& plan) {
  const std::int64_t extent = Typical(plan.rows.back().extent);
  return static_cast<double>(extent) /
         static_cast<double>(RoundUp(std::max<std::int64_t>(extent, 1), AmxTile::kRows));
}

bool MustCopy(const ContractionFunc& func, const ContractionPlan& plan) {
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

// Are lines of a tile's rows, read in place, more than a set of the first-level cache holds? They
// would drive each other out between one product and the next.
bool CrowdOneSet(const ContractionPlan& plan, const CpuMachine& machine) {
  const auto pitch = ConstantOf(plan.rows.back().lhs_stride);
  if (IsAmx(plan.kernel) || plan.depth.size() != 1 || !pitch) return false;
  const std::int64_t rows =
      std::min(MaxTileRows(plan.vectors, machine), Typical(plan.rows.back().extent));
  const std::int64_t way = machine.caches.way_bytes;
  const std::int64_t sets_apart = way / std::gcd(*pitch * SizeInBytes(plan.element), way);
  return rows > machine.caches.ways * sets_apart;
}

// Chooses how A is copied, if it is: where its rows lie, and in chunks of K if K is long.
Status ChooseCopy(ContractionPlan& plan, const ContractionFunc& func, const CpuMachine& machine) {
  if (!MustCopy(func, plan) && !CrowdOneSet(plan, machine)) return Ok();
  if (plan.kernel == MicroKernel::kAmxSplit && CanReadSpan(func, plan)) {
    plan.lhs = LhsCopy::kSpan;
    return Ok();
  }
  const SymDim depth = PaddedDepth(func);
  const bool fits = depth.IsConstant() && depth.constant() <= kMaxCopiedDepth;
  if (!fits && plan.depth.size() > 1) {
    return Unimplemented("A contraction that copies rows of several symbolic or large k dims.");
  }
  plan.lhs = fits ? LhsCopy::kWhole : LhsCopy::kChunks;
  if (!fits) plan.chunk = kCopiedChunk;
  plan.lhs_pitch = RoundUp(fits ? depth.constant() : kCopiedChunk, plan.depth_granule);
  // A pitch of whole pages would map all rows of a tile to one set of the first-level cache.
  const std::int64_t bytes = plan.lhs_pitch * SizeInBytes(plan.element);
  if (plan.kernel == MicroKernel::kAmxSplit) {
    if (!fits) return InvalidArgument("f32 in parts needs a constant K.");
    plan.lhs_pitch += plan.depth_granule;
  } else if (bytes % 1024 == 0) {
    plan.lhs_pitch += 64 / SizeInBytes(plan.element);
  }
  ReadCopy(plan, func);
  return Ok();
}

// A register tile takes as long for a few rows as for all. Every other number of rows down to half
// wastes one row of the last units; a unit that is the only one waits for B.
void ChooseLastTiles(ContractionPlan& plan) {
  if (IsAmx(plan.kernel) || plan.inner != 1 || plan.segments.IsConstant()) return;
  for (std::int64_t rows = plan.segment - 2; 2 * rows >= plan.segment; rows -= 2) {
    plan.last_tiles.push_back(rows);
  }
  if (plan.last_tiles.empty()) return;
  const std::int64_t half = plan.last_tiles.back();
  plan.lone_tiles = {plan.segment, half, DivUp(half, 2)};
}

// Chooses units_per_block, chunk and panels_per_group. `depth`: K, or what is typical for it.
void CutBlocks(ContractionPlan& plan, std::int64_t depth, const CpuMachine& machine) {
  const CpuCacheLimits& caches = machine.caches;
  const std::int64_t rows = plan.MaxUnitRows();
  const std::int64_t units = std::max<std::int64_t>(1, Typical(plan.units));
  const std::int64_t row_bytes = std::max<std::int64_t>(1, depth * SizeInBytes(plan.element));
  std::int64_t kept_bytes = row_bytes;  // Of a row, in the cache at one time.
  const bool in_tiles = plan.kernel == MicroKernel::kAmx;
  const std::int64_t max_row_bytes = in_tiles ? caches.max_tile_row_bytes : caches.max_row_bytes;
  if (plan.lhs == LhsCopy::kNone && plan.depth.size() == 1 && plan.depth[0].extent.IsConstant() &&
      row_bytes > max_row_bytes && units * rows * row_bytes > caches.rows_bytes) {
    const std::int64_t chunks =
        DivUp(row_bytes, in_tiles ? caches.tile_chunk_bytes : caches.chunk_bytes);
    plan.chunk = RoundUp(DivUp(depth, chunks), 64);
  }
  if (plan.chunk != 0) {
    plan.panels_per_group = EqualParts(Typical(plan.panels), kMaxPanelsPerGroup);
    kept_bytes = plan.chunk * SizeInBytes(plan.element);
  }
  // A multiple of `step` keeps AMX's pairs of units together.
  const std::int64_t step = in_tiles ? 2 : 1;
  const std::int64_t columns = Typical(plan.batch) * Typical(plan.panels);
  const std::int64_t rhs_bytes = columns * plan.lanes * plan.vectors * row_bytes;
  std::int64_t rows_bytes = caches.rows_bytes;
  if (in_tiles && plan.chunk == 0 && rhs_bytes > caches.tile_rows_bytes) {
    rows_bytes = caches.tile_rows_bytes;
  } else if (plan.lhs == LhsCopy::kWhole && rhs_bytes <= caches.few_rows_bytes) {
    rows_bytes = caches.few_rows_bytes;
  }
  std::int64_t per_block = std::clamp<std::int64_t>(rows_bytes / (rows * kept_bytes), 1, units);
  if (per_block > step) per_block = per_block / step * step;
  plan.units_per_block = RoundUp(EqualParts(units, per_block), step);
  if (rhs_bytes > caches.small_rhs_bytes) {
    plan.prefetch_parts = DivUp(std::min(plan.units_per_block, units), step);
    // There may be few units; those after the last part fetch what they find in the cache.
    if (!plan.units.IsConstant()) plan.prefetch_parts = std::min(plan.prefetch_parts, kFewParts);
  }
}

// Of products or, where there are few rows, of reading B.
double TaskNs(const ContractionFunc& func, const ContractionPlan& plan, const CpuMachine& machine) {
  const std::int64_t units = std::max<std::int64_t>(1, Typical(plan.units));
  const std::int64_t depth = Typical(PaddedDepth(func));
  const std::int64_t rows = std::min(plan.units_per_step, units) * plan.MaxUnitRows();
  const double ns = static_cast<double>(rows * depth * func.rhs.nr) *
                    NsPerProduct(plan.kernel, plan.lanes, machine);
  const std::int64_t panel_bytes = depth * func.rhs.nr * SizeInBytes(func.rhs.dtype);
  const std::int64_t panels = Typical(plan.batch) * Typical(plan.panels);
  if (panels * panel_bytes <= machine.caches.small_rhs_bytes) return ns;
  const std::int64_t sharers =
      std::min(plan.steps_per_block, std::max<std::int64_t>(1, Typical(plan.steps)));
  return std::max(ns, static_cast<double>(panel_bytes / sharers) * machine.tasks.ns_per_byte);
}

// Where K comes in chunks, each call reads the rows of A from farther away than the second-level
// cache, and copies them where they are copied: as much as half of a panel's products.
std::int64_t MinTasksPerCall(const ContractionPlan& plan) {
  if (plan.chunk == 0) return 1;
  const std::int64_t steps = std::max<std::int64_t>(1, Typical(plan.steps));
  return kPanelsPerCall * std::min(plan.steps_per_block, steps);
}

std::string_view Name(LhsCopy copy) {
  switch (copy) {
    case LhsCopy::kNone:
      return "in place";
    case LhsCopy::kWhole:
      return "copied";
    case LhsCopy::kChunks:
      return "copied by chunk";
    case LhsCopy::kSpan:
      return "copied as it lies";
  }
  STOKER_CHECK(false);
}

std::string Listed(const std::vector<std::int64_t>& rows) {
  std::string text;
  for (const std::int64_t count : rows) text += ' ' + std::to_string(count);
  return text;
}

std::string RunsText(const SumRuns& runs) {
  if (runs.one) return "one run";
  if (runs.IsCounted()) return "runs of sqrt(K)";
  return "runs of " + std::to_string(runs.length) + " along k" + std::to_string(runs.dim);
}

}  // namespace

Result<ContractionSchedule> ScheduleContraction(const ContractionFunc& func, MicroKernel kernel,
                                                const CpuMachine& machine, std::int64_t tile_rows) {
  ContractionPlan plan = PlanOperands(func, kernel, machine);
  STOKER_RETURN_IF_ERROR(ChooseCopy(plan, func, machine));
  const auto cut_sums = [&] {
    if (IsFloat(func.accumulator)) plan.runs = CutSums(plan, Typical(DepthOf(func)));
  };
  cut_sums();  // Are there runs? Again when chunks are known.
  ChooseTile(plan, func, machine, tile_rows);
  CutRows(plan);
  ChooseLastTiles(plan);
  const std::int64_t depth = Typical(PaddedDepth(func));
  if (kernel == MicroKernel::kAmxSplit) {
    CutBlocksInParts(plan, depth, machine);
  } else {
    CutBlocks(plan, depth, machine);
  }
  cut_sums();
  return static_cast<ContractionSchedule&>(plan);
}

Result<LaunchShape> LaunchShapeOf(const ContractionFunc& func, const ContractionSchedule& schedule,
                                  const CpuMachine& machine) {
  const ContractionPlan plan = PlanContraction(func, schedule, machine);
  LaunchShape launch;
  launch.tasks = plan.batch * plan.steps * plan.panels;
  launch.min_tasks_per_chunk = machine.MinTasksPerChunk(TaskNs(func, plan, machine));
  launch.min_tasks_per_call = MinTasksPerCall(plan);
  launch.scratch_bytes = plan.scratch_bytes;
  launch.dims = DimsOf(func, plan);
  return launch;
}

std::string ToString(const ContractionSchedule& schedule) {
  std::string text = "schedule contraction {\n  micro-kernel " +
                     std::string(Name(schedule.kernel)) + " of at most " +
                     std::to_string(schedule.tile_rows) + " rows\n";
  if (!schedule.last_tiles.empty()) {
    text += "  the last units of" + Listed(schedule.last_tiles) + ", a lone one of" +
            Listed(schedule.lone_tiles) + "\n";
  }
  text += "  lhs " + std::string(Name(schedule.lhs));
  if (schedule.lhs_pitch != 0) text += " with pitch " + std::to_string(schedule.lhs_pitch);
  text += "\n  blocks of at most " + std::to_string(schedule.units_per_block) + " units by " +
          std::to_string(schedule.panels_per_group) + " panels\n  k ";
  text += schedule.chunk == 0 ? "at once" : "in chunks of " + std::to_string(schedule.chunk);
  text += ", " + RunsText(schedule.runs);
  if (schedule.products_per_iteration != 0) {
    text += ", " + std::to_string(schedule.products_per_iteration) + " products an iteration";
  }
  text += "\n";
  if (schedule.prefetch_parts != 0) {
    text +=
        "  prefetches the next panel in " + std::to_string(schedule.prefetch_parts) + " parts\n";
  }
  return text + "}\n";
}

}  // namespace stoker::cpu
