// What a cubin says of itself.
#pragma once

#include <string>
#include <string_view>

#include "protocol/base/result.h"

namespace stoker::cuda {

struct CubinEntry {
  std::string symbol;
  unsigned threads = 0;  // Of a block: it must be launched with as many (.reqntid of PTX), along x.
};

// Its kernel (protocol/artifact/cuda_kernel_abi.h). The driver does not tell. DataLoss where
// `cubin` is none, or has not one kernel.
Result<CubinEntry> EntryOf(std::string_view cubin);

// The constant u32 `symbol`; 0 where `cubin` has none.
unsigned ConstantOf(std::string_view cubin, std::string_view symbol);

}  // namespace stoker::cuda
