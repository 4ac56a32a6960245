#include "compiler/schedule/cpu/attention_plan.h"

#include <algorithm>

#include "compiler/schedule/cpu/launch/sizes.h"

namespace stoker::cpu {
namespace {

constexpr std::int64_t kMaxTileRows = 8;

// What the operands of a micro-kernel are.
struct Forms {
  DType element = DType::kF32;
  DType compute = DType::kF32;
  int lanes = 16;
  std::int64_t granule = 1;
  std::int64_t pair = 1;
  std::int64_t nr = 32;
};

Forms FormsOf(const AttentionFunc& func, MicroKernel kernel, const CpuMachine& machine) {
  Forms forms;
  forms.compute = func.q.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  forms.element = forms.compute;
  if (kernel != MicroKernel::kMultiplyAdd) {
    forms.element = DType::kBF16;
    forms.pair = 2;
    forms.granule = kernel == MicroKernel::kAmx ? 32 : 2;
  }
  forms.lanes = machine.Lanes(forms.compute);
  forms.nr = std::int64_t{forms.lanes} * 2;
  return forms;
}

// Of two vectors each, beside a row of B and a broadcast. More rows than kMaxTileRows were slower
// on each processor that this was measured on: Zen 4, and a Xeon with AMX in f32.
std::int64_t MaxTileRows(const CpuMachine& machine) {
  return std::min<std::int64_t>(kMaxTileRows, (machine.num_vector_registers - 3) / 2);
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

std::vector<MicroKernel> MicroKernelsOf(const AttentionFunc& func, const CpuMachine& machine) {
  std::vector<MicroKernel> kernels;
  if (func.q.dtype == DType::kBF16 && machine.amx_bf16) kernels.push_back(MicroKernel::kAmx);
  if (func.q.dtype == DType::kBF16 && machine.avx512_bf16) {
    kernels.push_back(MicroKernel::kDotBF16);
  }
  kernels.push_back(MicroKernel::kMultiplyAdd);
  return kernels;
}

AttentionSchedule ScheduleAttention(const AttentionFunc& func, MicroKernel kernel,
                                    const CpuMachine& machine) {
  AttentionSchedule schedule;
  schedule.kernel = kernel;
  std::int64_t per_task = machine.tasks.queries;
  if (func.queries.IsConstant()) {
    const std::int64_t size = std::max<std::int64_t>(1, func.queries.constant());
    per_task = DivUp(size, DivUp(size, per_task));
  }
  const std::int64_t max_tile_rows =
      kernel == MicroKernel::kAmx ? 2 * AmxTile::kRows : MaxTileRows(machine);
  schedule.tile_rows = DivUp(per_task, DivUp(per_task, max_tile_rows));
  if (kernel == MicroKernel::kAmx) {
    schedule.tile_rows = RoundUp(schedule.tile_rows, AmxTile::kRows);
  }
  const bool single =
      func.keys.IsConstant() && func.keys.constant() <= machine.caches.max_single_key_block;
  schedule.queries_per_task = single ? schedule.tile_rows : RoundUp(per_task, schedule.tile_rows);
  const Forms forms = FormsOf(func, kernel, machine);
  schedule.key_block = single ? RoundUp(std::max<std::int64_t>(1, func.keys.constant()),
                                        std::max(forms.nr, forms.granule))
                              : machine.caches.key_block;
  return schedule;
}

AttentionPlan PlanAttention(const AttentionFunc& func, const AttentionSchedule& schedule,
                            const CpuMachine& machine) {
  AttentionPlan plan;
  static_cast<AttentionSchedule&>(plan) = schedule;
  const Forms forms = FormsOf(func, schedule.kernel, machine);
  plan.compute = forms.compute;
  plan.element = forms.element;
  plan.amx = schedule.kernel == MicroKernel::kAmx;
  plan.lanes = forms.lanes;
  plan.granule = forms.granule;
  plan.pair = forms.pair;
  plan.nr = forms.nr;
  plan.head_dim = RoundUp(func.head_dim, plan.granule);
  plan.value_dim = RoundUp(func.value_dim, plan.nr);
  plan.query_blocks = SymDim::CeilDiv(func.queries, plan.queries_per_task);
  plan.single_block = func.keys.IsConstant() && func.keys.constant() <= plan.key_block;
  LayOutScratch(plan);
  plan.group = SymDim::FloorDiv(func.heads, func.kv_heads);
  plan.tasks = func.batch * func.heads * plan.query_blocks;
  return plan;
}

LaunchShape LaunchShapeOf(const AttentionFunc& func, const AttentionSchedule& schedule,
                          const CpuMachine& machine) {
  const AttentionPlan plan = PlanAttention(func, schedule, machine);
  const double products = static_cast<double>(plan.queries_per_task * Typical(func.keys) *
                                              (plan.head_dim + plan.value_dim));
  LaunchShape launch;
  launch.tasks = plan.tasks;
  launch.min_tasks_per_chunk = machine.MinTasksPerChunk(products * (plan.amx ? 0.005 : 0.02));
  launch.scratch_bytes = plan.scratch_bytes;
  launch.dims = DimsOf(func, plan);
  return launch;
}

std::string ToString(const AttentionSchedule& schedule) {
  return "schedule attention {\n  micro-kernel " + std::string(Name(schedule.kernel)) + " of " +
         std::to_string(schedule.tile_rows) + " rows\n  task of " +
         std::to_string(schedule.queries_per_task) + " queries, keys in blocks of " +
         std::to_string(schedule.key_block) + "\n}\n";
}

std::vector<SymDim> DimsOf(const AttentionFunc& func, const AttentionPlan& plan) {
  DimTable dims;
  for (const SymDim& dim : {func.batch, func.heads, func.kv_heads, func.queries, func.keys,
                            plan.group, plan.query_blocks, plan.group * plan.query_blocks}) {
    dims.Add(dim);
  }
  dims.Add(func);
  return std::move(dims).Take();
}

}  // namespace stoker::cpu
