// GpuMachine: what the GPU that a CUDA Target names can do, and what that means for how work is
// cut.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/machine/machine.h"
#include "protocol/artifact/cuda_kernel_abi.h"
#include "protocol/base/dtype.h"
#include "protocol/base/result.h"
#include "protocol/key/target.h"

namespace stoker {

// What copies from memory to shared memory beside the threads' arithmetic.
enum class CopyEngine : std::uint8_t {
  kCpAsync,  // cp.async: 4, 8 or 16 bytes a thread.
  kTma,      // The tensor memory accelerator: whole tiles, one thread asks. cp.async, too.
};

// The instruction that multiplies matrices.
enum class TensorCore : std::uint8_t {
  kMma,      // mma.sync: a warp, operands in registers.
  kWgmma,    // wgmma: four warps, operands in shared memory.
  kTcgen05,  // tcgen05.mma: one thread asks, sums in tensor memory.
};

// The largest tile that one instruction multiplies.
struct TensorCoreTile {
  DType operand = DType::kF32;  // Both operands'. f32 is read as TF32: 10 of its 23 digits.
  int m = 0;
  int n = 0;  // kWgmma and kTcgen05: any multiple of 8 (16) up to it.
  int k = 0;
  friend bool operator==(const TensorCoreTile&, const TensorCoreTile&) = default;
};

// What blocks and threads should be worth.
struct GpuBlockLimits {
  // Threads of a block: several blocks fill an SM, so that one that ends leaves little of it idle.
  int threads = 256;
  // Threads that keep every SM of a large GPU busy: half of those that 132 SMs hold.
  std::int64_t wanted_threads = std::int64_t{1} << 17;
  int multiprocessors = 132;  // Of a large GPU.
  int access_bytes = 16;      // The widest access of one thread.
  int line_bytes = 128;       // What the accesses of a team should at least cover together.
  // A thread of pointwise work loads so many bytes before it needs the first, to hide the time that
  // memory takes; not where there are too few points to fill the GPU.
  int bytes_in_flight = 16;
  int elements_in_flight = 16;  // Of a thread that streams through a row or column.
  // A thread that keeps its part of a row in registers has so many elements of it, or up to twice
  // as many.
  int row_elements = 32;
  int working_registers = 48;  // What it computes with beside them.
  // A thread of a block that stands has twice as many, and fewer registers beside them; such a
  // block has at least so many threads.
  int standing_elements = 64;
  int standing_registers = 32;
  int standing_threads = 512;
  int sm_parts = 4;   // Each with warps and registers of its own.
  int barriers = 15;  // Of a block, beside that of all of its threads.
  // It pays for so many rows of each team, and so many operations, in units of an addition, for
  // each byte that a row moves: what memory takes no longer than.
  std::int64_t standing_rows = 8;
  std::int64_t standing_operations = 24;
  // What a thread has in registers beside the values of its bodies, and beside where each operand
  // lies: counters, indices.
  int index_registers = 12;
  // Operations of one kernel, in units of an addition, all copies of its bodies counted: what it is
  // compiled in grows with them, and faster.
  std::int64_t kernel_operations = 4096;
  // The same of a kernel that computes values again in each stage that needs them, because it
  // cannot keep them: from here on they are written to memory and read, by kernels of their own.
  std::int64_t copied_operations = 512;
  // What moves so many bytes takes longer than it costs to launch it: from here on it has a kernel
  // of its own, otherwise it may share one with others.
  std::int64_t joined_part_bytes = std::int64_t{6} << 20;
  // Together they move so many at most: what is computed before it is needed waits in memory.
  std::int64_t joined_bytes = std::int64_t{64} << 20;
  int resident_threads = 1024;  // Of an SM, from which on more do not make memory faster.
  int column_team = 32;         // Threads that share a column, at most.
};

struct GpuMachine final : Machine {
  std::string arch;  // As the target names it: "sm_90a".
  int warp_size = 32;
  int max_threads_per_block = 1024;
  int max_threads_per_sm = 0;
  int max_blocks_per_sm = 0;
  int registers_per_sm = 64 << 10;  // Of 32 bits.
  int max_registers_per_thread = 255;
  std::int64_t shared_bytes_per_sm = 0;
  std::int64_t shared_bytes_per_block = 0;  // At most, of which what exceeds 48 KiB is asked for.
  std::int64_t l2_bytes = 0;                // Of the product that the table names.
  std::int64_t max_grid_blocks = kMaxCudaBlocks;  // Along x.
  std::int64_t max_parameter_bytes = 4096;        // Of a kernel; PTX before 8.1 has no more.
  CopyEngine copy_engine = CopyEngine::kCpAsync;
  TensorCore tensor_core = TensorCore::kMma;
  std::vector<TensorCoreTile> tiles;  // One for each dtype that tensor cores multiply.
  FusionLimits fusion;
  GpuBlockLimits blocks;

  // Null where tensor cores do not multiply `operand`.
  const TensorCoreTile* TileOf(DType operand) const;

  const FusionLimits& fusion_limits() const override { return fusion; }
  bool runs_loops() const override { return false; }
  ProductLayout LayoutOf(const Product& product) const override;
  std::int64_t ProductWorkspaceBytes(std::optional<std::int64_t> numbers) const override;
};

// `target` must be a CUDA target. Unimplemented, naming the architecture, where the table here has
// no row for it.
Result<GpuMachine> GpuMachineOf(const Target& target);

}  // namespace stoker
