// The calling convention of compiled CUDA kernels.
//
// A kernel takes one pointer for each operand of the launch, in its order, then one i64 for each of
// the launch's dim expressions. It is launched with the block and grid that its schedule says,
// along x, and without dynamic shared memory. A grid of 0 blocks is not launched.
#pragma once

#include <cstdint>

namespace stoker {

// The entry every kernel cubin has.
inline constexpr char kCudaKernelSymbol[] = "stoker_cuda_kernel_1";

// Blocks of a launch, at most.
inline constexpr std::int64_t kMaxCudaBlocks = (std::int64_t{1} << 31) - 1;

}  // namespace stoker
