// AttentionSchedule: how an attention is cut into tasks; AttentionPlan: what follows from that, and
// what its scratch holds.
//
// A task is a block of queries of one (batch, head). Keys come in blocks; of each, K (transposed)
// and V are copied into panels like those of a contraction's packed B, in the element type of the
// multiplication. With a single block of keys, tasks of one head that a thread runs share the copy:
// each has no more queries than a register tile, so that many threads have equal shares.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/attention_func.h"
#include "compiler/machine/cpu_machine.h"
#include "compiler/schedule/cpu/contraction/micro_kernel.h"
#include "compiler/schedule/cpu/launch/launch_shape.h"

namespace stoker::cpu {

// Chosen.
struct AttentionSchedule {
  MicroKernel kernel = MicroKernel::kMultiplyAdd;  // Of both products; not kAmxSplit.
  std::int64_t tile_rows = 14;                     // Queries of one register tile.
  std::int64_t queries_per_task = 0;               // A multiple of tile_rows.
  std::int64_t key_block = 0;                      // A multiple of nr and of granule.
};

std::string ToString(const AttentionSchedule& schedule);

// Those of a machine that multiply q, k and v, the fastest first.
std::vector<MicroKernel> MicroKernelsOf(const AttentionFunc& func, const CpuMachine& machine);
AttentionSchedule ScheduleAttention(const AttentionFunc& func, MicroKernel kernel,
                                    const CpuMachine& machine);
LaunchShape LaunchShapeOf(const AttentionFunc& func, const AttentionSchedule& schedule,
                          const CpuMachine& machine);

// What follows.
struct AttentionPlan : AttentionSchedule {
  DType element = DType::kF32;  // Of multiplied values: f32, f64 or bf16.
  DType compute = DType::kF32;  // Of scores and sums.
  bool amx = false;
  int lanes = 16;            // Of `compute` in a vector.
  std::int64_t granule = 1;  // Multiples in which a product's inner dim is consumed.
  std::int64_t pair = 1;     // Elements of the inner dim that lie together in a panel.
  std::int64_t nr = 32;      // Columns of a panel.

  bool single_block = false;  // All keys are in one block.

  std::int64_t head_dim = 0;   // Padded to granule.
  std::int64_t value_dim = 0;  // Padded to nr.

  SymDim group;         // Heads that share one of kv_heads.
  SymDim query_blocks;  // Tasks of a head.
  SymDim tasks;

  // Scratch, byte offsets.
  std::int64_t keys_offset = 0;     // Panels of K^T: [key_block / nr][head_dim / pair][nr][pair]
  std::int64_t values_offset = 0;   // Panels of V: [value_dim / nr][key_block / pair][nr][pair]
  std::int64_t queries_offset = 0;  // [tile_rows][head_dim]
  std::int64_t scores_offset = 0;   // [tile_rows][key_block] of compute
  std::int64_t probabilities_offset = 0;  // [tile_rows][key_block] of element; f32: the scores'
  std::int64_t output_offset = 0;         // [queries_per_task][value_dim] of compute
  std::int64_t maximum_offset = 0;        // [queries_per_task] of compute
  std::int64_t sum_offset = 0;            // [queries_per_task] of compute
  std::int64_t config_offset = 0;
  std::int64_t scratch_bytes = 0;
};

AttentionPlan PlanAttention(const AttentionFunc& func, const AttentionSchedule& schedule,
                            const CpuMachine& machine);

// The expressions that EmitAttention asks for, in order.
std::vector<SymDim> DimsOf(const AttentionFunc& func, const AttentionPlan& plan);

}  // namespace stoker::cpu
