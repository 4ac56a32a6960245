#include "compiler/schedule/cpu/attention_plan.h"

#include <algorithm>

namespace stoker::codegen {
namespace {

// Up to so many keys are one block: K and V of a head of 64 fill half of a second-level cache.
constexpr std::int64_t kMaxSingleBlock = 512;
constexpr std::int64_t kKeyBlock = 256;
constexpr std::int64_t kQueriesPerTask = 128;
constexpr std::int64_t kTypicalExtent = 128;

std::int64_t DivUp(std::int64_t x, std::int64_t y) { return (x + y - 1) / y; }
std::int64_t RoundUp(std::int64_t x, std::int64_t y) { return DivUp(x, y) * y; }
std::int64_t Typical(const SymDim& dim) {
  return dim.IsConstant() ? dim.constant() : kTypicalExtent;
}

void CutQueries(AttentionPlan& plan, const SymDim& queries, std::int64_t max_tile_rows) {
  std::int64_t per_task = kQueriesPerTask;
  if (queries.IsConstant()) {
    const std::int64_t size = std::max<std::int64_t>(1, queries.constant());
    per_task = DivUp(size, DivUp(size, kQueriesPerTask));
  }
  plan.tile_rows = DivUp(per_task, DivUp(per_task, max_tile_rows));
  if (plan.amx) plan.tile_rows = RoundUp(plan.tile_rows, AmxTile::kRows);
  plan.queries_per_task = RoundUp(per_task, plan.tile_rows);
  plan.query_blocks = SymDim::CeilDiv(queries, plan.queries_per_task);
}

void LayOutScratch(AttentionPlan& plan) {
  std::int64_t at = 0;
  const auto take = [&](std::int64_t elements, DType dtype) {
    const std::int64_t offset = at;
    // A vector more, since rows are written in whole vectors.
    at = RoundUp(at + elements * SizeInBytes(dtype), 64) + 64;
    return offset;
  };
  plan.config_offset = take(AmxTile::kConfigBytes, DType::kU8);
  plan.keys_offset = take(plan.key_block * plan.head_dim, plan.element);
  plan.values_offset = take(plan.key_block * plan.value_dim, plan.element);
  plan.queries_offset = take(plan.tile_rows * plan.head_dim, plan.element);
  plan.scores_offset = take(plan.tile_rows * plan.key_block, plan.compute);
  plan.probabilities_offset = plan.element == plan.compute
                                  ? plan.scores_offset
                                  : take(plan.tile_rows * plan.key_block, plan.element);
  plan.output_offset = take(plan.queries_per_task * plan.value_dim, plan.compute);
  plan.maximum_offset = take(plan.queries_per_task, plan.compute);
  plan.sum_offset = take(plan.queries_per_task, plan.compute);
  plan.scratch_bytes = at;
}

}  // namespace

Result<AttentionPlan> PlanAttention(const AttentionFunc& func, const CpuMachine& machine) {
  AttentionPlan plan;
  plan.compute = func.q.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  plan.element = plan.compute;
  if (func.q.dtype == DType::kBF16 && (machine.amx_bf16 || machine.avx512_bf16)) {
    plan.element = DType::kBF16;
    plan.amx = machine.amx_bf16;
    plan.pair = 2;
    plan.granule = plan.amx ? 32 : 2;
  }
  plan.lanes = machine.Lanes(plan.compute);
  plan.nr = plan.lanes * 2;
  // See MaxTileRows of contractions.
  const std::int64_t spare = machine.num_vector_registers > 16 ? 3 : 1;
  const std::int64_t vector_rows = (machine.num_vector_registers - 2 - spare) / 2;
  plan.head_dim = RoundUp(func.head_dim, plan.granule);
  plan.value_dim = RoundUp(func.value_dim, plan.nr);
  CutQueries(plan, func.queries, plan.amx ? 2 * AmxTile::kRows : vector_rows);
  plan.single_block = func.keys.IsConstant() && func.keys.constant() <= kMaxSingleBlock;
  const std::int64_t multiple = std::max(plan.nr, plan.granule);
  plan.key_block = plan.single_block
                       ? RoundUp(std::max<std::int64_t>(1, func.keys.constant()), multiple)
                       : kKeyBlock;
  LayOutScratch(plan);

  plan.group = SymDim::FloorDiv(func.heads, func.kv_heads);
  plan.tasks = func.batch * func.heads * plan.query_blocks;
  const double products = static_cast<double>(plan.queries_per_task * Typical(func.keys) *
                                              (plan.head_dim + plan.value_dim));
  plan.task_ns = products * (plan.amx ? 0.005 : 0.02);
  return plan;
}

std::vector<SymDim> DimsOf(const AttentionFunc& func, const AttentionPlan& plan) {
  DimTable dims;
  for (const SymDim& dim : {func.batch, func.heads, func.kv_heads, func.queries, func.keys,
                            plan.group, plan.query_blocks, plan.group * plan.query_blocks}) {
    dims.Add(dim);
  }
  for (const AttentionOperand* operand : {&func.q, &func.k, &func.v, &func.out, &func.mask}) {
    dims.Add(operand->offset);
    for (const SymDim& stride : operand->strides) dims.Add(stride);
  }
  return std::move(dims).Take();
}

}  // namespace stoker::codegen
