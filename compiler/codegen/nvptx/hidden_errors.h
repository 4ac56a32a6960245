// Which values of a loop may be off by more than f32 shows, because all that comes of them is
// rounded to 16 bits.
#pragma once

#include <vector>

#include "compiler/ir/loop_func.h"

namespace stoker::codegen {

// A set of the instructions of each stage. What one of them is off by, as a part of itself, every
// result of the loop is off by kMostTimes that part of itself at most, before it is rounded to f16
// or bf16. A difference, a logarithm, a sine, a comparison or an f32 that is written shows more.
class HiddenErrors {
 public:
  static constexpr double kMostTimes = 8;

  explicit HiddenErrors(const LoopFunc& func);

  // Of `stage`, one of the function's, a number for each instruction.
  const std::vector<bool>& Of(const Stage& stage) const {
    return hidden_[static_cast<std::size_t>(&stage - first_)];
  }

 private:
  const Stage* first_;
  std::vector<std::vector<bool>> hidden_;
};

}  // namespace stoker::codegen
