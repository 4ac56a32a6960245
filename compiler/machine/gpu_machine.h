// GpuMachine: what the GPU that a CUDA Target names can do, and what that means for how work is
// cut.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/machine/machine.h"
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

// What a block should be worth.
struct GpuBlockLimits {
  // Threads of a block of pointwise work: several blocks fill an SM, so that one that ends leaves
  // little of it idle.
  int threads = 256;
  // A thread loads so many bytes of its widest operand before it needs the first, to hide the time
  // that memory takes; not where there are too few points to fill the GPU.
  int bytes_in_flight = 16;
  std::int64_t min_points_in_flight = std::int64_t{1} << 18;
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
  std::int64_t max_grid_blocks = (std::int64_t{1} << 31) - 1;  // Along x.
  std::int64_t max_parameter_bytes = 4096;  // Of a kernel; PTX before 8.1 has no more.
  CopyEngine copy_engine = CopyEngine::kCpAsync;
  TensorCore tensor_core = TensorCore::kMma;
  std::vector<TensorCoreTile> tiles;  // One for each dtype that tensor cores multiply.
  FusionLimits fusion;
  GpuBlockLimits blocks;

  // Null where tensor cores do not multiply `operand`.
  const TensorCoreTile* TileOf(DType operand) const;

  const FusionLimits& fusion_limits() const override { return fusion; }
  ProductLayout LayoutOf(const Product& product) const override;
};

// `target` must be a CUDA target. Unimplemented, naming the architecture, where the table here has
// no row for it.
Result<GpuMachine> GpuMachineOf(const Target& target);

}  // namespace stoker
