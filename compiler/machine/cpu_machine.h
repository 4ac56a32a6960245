// CpuMachine: what the processor that a CPU Target names can do, and what that means for how work
// is cut.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "compiler/machine/machine.h"
#include "protocol/base/dtype.h"
#include "protocol/base/result.h"
#include "protocol/key/target.h"

namespace stoker {

// What a task should be worth.
struct CpuTaskLimits {
  // A chunk of tasks that is handed to a thread: about ten times what waking the thread costs.
  double chunk_ns = 10000;
  // Elements of a pointwise task: enough to hide its start, few enough to stay in the first-level
  // cache and to spread over the cores. Below min_parallel_elements a kernel is one task.
  std::int64_t min_elements = 512;
  std::int64_t max_elements = 4096;
  std::int64_t min_parallel_elements = 8192;
  // Reductions along other dims than the lanes: lanes of a task, at least, and tasks they are cut
  // for.
  std::int64_t min_lanes = 64;
  std::int64_t wanted_tasks = 8;
  // Blocks of lanes are multiples of this, where that costs no more than half of them.
  std::int64_t block_lanes = 16;
  // Points of a task whose stages have no outer dims left: some ten microseconds.
  std::int64_t max_points = 32768;
  // Queries of attention whose keys come in several blocks, each of which a task copies.
  std::int64_t queries = 128;
  double cycles_per_ns = 3;
  // That one core reads from memory.
  double ns_per_byte = 0.05;
};

// What a thread keeps in a core's caches.
struct CpuCacheLimits {
  // Of lines that lie a multiple of way_bytes apart, the first-level cache holds as many as it has
  // ways: eight in 32 KiB; processors with 48 KiB have twelve.
  std::int64_t ways = 8;
  std::int64_t way_bytes = 4 << 10;
  // Rows of A that stay in the second-level cache beside panels of B.
  std::int64_t rows_bytes = 640 << 10;
  // The same for rows in three bf16 parts, which share it with two panels, and for their sums.
  std::int64_t split_rows_bytes = 1152 << 10;
  std::int64_t split_sums_bytes = 400 << 10;
  // The same for tiles of AMX, whose processors have 2 MiB, where B is larger still and comes from
  // farther away for each block of rows.
  std::int64_t tile_rows_bytes = 1200 << 10;
  // Copies of rows that stay in the first-level cache beside a B that is no larger.
  std::int64_t few_rows_bytes = 24 << 10;
  // Rows of A longer than this are consumed in chunks of some chunk_bytes if not all fit.
  std::int64_t max_row_bytes = 6 << 10;
  std::int64_t chunk_bytes = 3 << 10;
  // The same for tiles of AMX: a panel's part of a chunk takes half of a first-level cache of 48
  // KiB.
  std::int64_t max_tile_row_bytes = 4 << 10;
  std::int64_t tile_chunk_bytes = 768;
  // B that stays in the second-level cache by itself.
  std::int64_t small_rhs_bytes = 256 << 10;
  // Keys of attention in one block, at most: K and V of a head of 64 then fill half of the
  // second-level cache. Longer ones come in blocks.
  std::int64_t max_single_key_block = 512;
  std::int64_t key_block = 256;
};

struct CpuMachine final : Machine {
  std::string arch;                // As the target names it: "x86-64-v4".
  std::set<std::string> features;  // Beyond it, as the target names them.
  int vector_bytes = 32;           // 64 with AVX-512.
  int num_vector_registers = 16;
  bool avx512 = false;
  bool avx512_bf16 = false;
  bool amx_bf16 = false;
  FusionLimits fusion;
  CpuTaskLimits tasks;
  CpuCacheLimits caches;

  // Lanes of one register. f16 and bf16 count as f32 (they are computed in it), bool as f32.
  int Lanes(DType dtype) const;
  // So many tasks of `task_ns` each that a chunk is worth handing to a thread.
  std::int64_t MinTasksPerChunk(double task_ns) const;

  const FusionLimits& fusion_limits() const override { return fusion; }
  bool runs_loops() const override { return true; }
  ProductLayout LayoutOf(const Product& product) const override;
};

// Tile registers of AMX.
struct AmxTile {
  static constexpr int kRows = 16;  // At most.
  static constexpr int kRowBytes = 64;
  static constexpr int kBytes = kRows * kRowBytes;
  static constexpr int kConfigBytes = 64;  // What ldtilecfg reads.
};

// `target` must be a CPU target.
Result<CpuMachine> CpuMachineOf(const Target& target);

}  // namespace stoker
