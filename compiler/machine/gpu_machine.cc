#include "compiler/machine/gpu_machine.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace stoker {
namespace {

constexpr std::int64_t kKiB = 1 << 10;
constexpr std::int64_t kMiB = 1 << 20;

struct Row {
  std::string_view arch;
  int threads_per_sm;
  int blocks_per_sm;
  std::int64_t shared_kib_per_sm;
  std::int64_t l2_mib;
  CopyEngine copy_engine;
  TensorCore tensor_core;
  bool multiplies_f64;
};

// Threads, blocks, shared memory: CUDA C++ Programming Guide, "Technical Specifications per Compute
// Capability". Second-level caches differ between products of one architecture; these are NVIDIA's
// figures for A100, A10, L4, H100, B200 and GeForce RTX 5090.
constexpr std::array kRows = {
    Row{"sm_80", 2048, 32, 164, 40, CopyEngine::kCpAsync, TensorCore::kMma, true},
    Row{"sm_86", 1536, 16, 100, 6, CopyEngine::kCpAsync, TensorCore::kMma, false},
    Row{"sm_89", 1536, 24, 100, 48, CopyEngine::kCpAsync, TensorCore::kMma, false},
    Row{"sm_90a", 2048, 32, 228, 50, CopyEngine::kTma, TensorCore::kWgmma, true},
    Row{"sm_100a", 2048, 32, 228, 126, CopyEngine::kTma, TensorCore::kTcgen05, true},
    Row{"sm_120", 1536, 24, 100, 96, CopyEngine::kTma, TensorCore::kMma, false},
};

// The system keeps this of each block's shared memory.
constexpr std::int64_t kReservedSharedBytes = 1 * kKiB;

// PTX ISA: mma (m16n8k*), wgmma.mma_async (m64nNk*), tcgen05.mma of one CTA (M 128). A step of k is
// 32 bytes of an operand. f64 has mma alone.
std::vector<TensorCoreTile> TilesOf(const Row& row) {
  int m = 16;
  int n = 8;
  if (row.tensor_core != TensorCore::kMma) {
    m = row.tensor_core == TensorCore::kWgmma ? 64 : 128;
    n = 256;
  }
  std::vector<TensorCoreTile> tiles;
  for (const DType operand : {DType::kBF16, DType::kF16, DType::kF32, DType::kI8}) {
    tiles.push_back({operand, m, n, 32 / static_cast<int>(SizeInBytes(operand))});
  }
  if (row.multiplies_f64) tiles.push_back({DType::kF64, 8, 8, 4});
  return tiles;
}

FusionLimits FusionLimitsOf(const GpuMachine& machine) {
  // What is not set here has not been measured on a GPU, and is as on CPUs.
  FusionLimits limits;
  limits.products_are_calls = true;
  // One H200, bf16: 120 TFLOP/s where rows are of an odd number of elements, 600 where they are
  // not; a copy reads and writes 4 TB/s, and takes a launch (notes/0004).
  limits.product_row_bytes = 16;
  limits.min_padded_product = 2e9;
  limits.min_padded_product_intensity = 75;
  // While memory brings an element of 16 bits and takes another, 30 operations are free.
  limits.max_recompute_cost_of_one = 24;
  limits.max_spread_cost = 24;
  // What registers do not hold the schedule computes again, as long as that is little.
  limits.max_kept_elements = INT64_MAX;
  limits.reads_at_chosen_index = true;
  // A warp's neighbours are loaded together; a lane that has none brings in a sector of 32 bytes
  // for its four.
  limits.vector_lanes = machine.warp_size;
  limits.strided_cost = 8;
  // A row has a block, or part of one; four or eight columns have the threads of a warp. Fewer rows
  // and columns than these leave most of a GPU idle.
  limits.min_reduction_parts = 4;
  limits.max_reduction_parts = 1024;
  limits.max_split_rows = 64;
  limits.max_split_columns = 8192;
  limits.max_partial_results = 1 << 15;
  limits.block_columns = 64;
  limits.min_split_block = 1 << 16;
  return limits;
}

}  // namespace

const TensorCoreTile* GpuMachine::TileOf(DType operand) const {
  const auto tile = std::ranges::find(tiles, operand, &TensorCoreTile::operand);
  return tile == tiles.end() ? nullptr : &*tile;
}

Result<GpuMachine> GpuMachineOf(const Target& target) {
  if (target.kind() != TargetKind::kCuda) {
    return Unimplemented("Target " + target.ToString() + " is not a CUDA target.");
  }
  const auto row = std::ranges::find(kRows, std::string_view(target.arch()), &Row::arch);
  if (row == kRows.end()) {
    std::string known;
    for (const Row& other : kRows) known += (known.empty() ? "" : ", ") + std::string(other.arch);
    return Unimplemented("This compiler does not know the GPU architecture " + target.arch() +
                         "; it knows " + known + ".");
  }
  GpuMachine machine;
  machine.arch = target.arch();
  machine.max_threads_per_sm = row->threads_per_sm;
  machine.max_blocks_per_sm = row->blocks_per_sm;
  machine.shared_bytes_per_sm = row->shared_kib_per_sm * kKiB;
  machine.shared_bytes_per_block = machine.shared_bytes_per_sm - kReservedSharedBytes;
  machine.l2_bytes = row->l2_mib * kMiB;
  machine.copy_engine = row->copy_engine;
  machine.tensor_core = row->tensor_core;
  machine.tiles = TilesOf(*row);
  machine.fusion = FusionLimitsOf(machine);
  return machine;
}

}  // namespace stoker
