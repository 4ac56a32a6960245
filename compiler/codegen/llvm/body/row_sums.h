// Which results of earlier stages are sums, and which are exponentials.
#pragma once

#include <cstdint>
#include <set>

#include "compiler/ir/loop_func.h"

namespace stoker::codegen {

// Numbers of kInput values.
struct RowSums {
  explicit RowSums(const LoopFunc& func);

  // Is the value an exponential, or one where it is not nothing?
  bool IsExponential(const Body& body, std::uint32_t instr) const;

  std::set<std::uint32_t> sums;          // Or made of one.
  std::set<std::uint32_t> exponentials;  // As IsExponential says.
};

}  // namespace stoker::codegen
