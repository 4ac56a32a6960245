// The calling convention of compiled CUDA kernels.
//
// A kernel takes one pointer for each operand of the launch, in its order, then one i64 for each of
// the launch's dim expressions. It is launched with the block and grid that its schedule says,
// along x. A grid of 0 blocks is not launched.
//
// A kernel stands where its module has a constant u32 that says how much dynamic shared memory a
// block has, in bytes. An SM holds one of its blocks; these take what there is to do in turns, as
// many as they are, and there are no more of them than the GPU has SMs.
#pragma once

#include <cstdint>
#include <string_view>

namespace stoker {

// Every kernel cubin has one entry, named after what it computes: "stoker_add_erf_1", ending in the
// version of this convention.
inline constexpr std::string_view kCudaKernelPrefix = "stoker_";
inline constexpr std::string_view kCudaKernelSuffix = "_1";

// The constant.
inline constexpr char kCudaSharedBytesSymbol[] = "stoker_cuda_shared_bytes_1";

// Blocks of a launch, at most.
inline constexpr std::int64_t kMaxCudaBlocks = (std::int64_t{1} << 31) - 1;

}  // namespace stoker
