// What a cubin says of itself.
#pragma once

#include <string_view>

#include "protocol/base/result.h"

namespace stoker::cuda {

// Threads of a block that the kernel `symbol` must be launched with (.reqntid of PTX), all along x.
// The driver does not tell. DataLoss where `cubin` is none, or has no such kernel.
Result<unsigned> BlockThreadsOf(std::string_view cubin, std::string_view symbol);

// The constant u32 `symbol`; 0 where `cubin` has none.
unsigned ConstantOf(std::string_view cubin, std::string_view symbol);

}  // namespace stoker::cuda
