// LaunchShape: how a CPU kernel is launched.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/schedule/loops/dim_table.h"
#include "protocol/graph/dim/sym_dim.h"

namespace stoker {

struct LaunchShape {
  SymDim tasks;  // Independent tasks; see kernel_abi.h.
  std::int64_t min_tasks_per_chunk = 1;
  std::int64_t min_tasks_per_call = 1;
  std::int64_t scratch_bytes = 0;
  std::vector<SymDim> dims;  // What the kernel expects in `dims`, in order.
};

}  // namespace stoker
