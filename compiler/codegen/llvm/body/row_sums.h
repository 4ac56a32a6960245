// Which results of earlier stages are sums.
#pragma once

#include <cstdint>
#include <set>

#include "compiler/ir/loop_func.h"

namespace stoker::codegen {

// The numbers of those kInput values that are sums, or made of one.
std::set<std::uint32_t> RowSums(const LoopFunc& func);

}  // namespace stoker::codegen
