// What a loop costs a thread of a GPU before it is compiled: registers, and code.
#pragma once

#include <cstdint>

#include "compiler/ir/loop_func.h"
#include "compiler/schedule/cuda/loop_form.h"

namespace stoker::cuda {

// What one thread has of a loop.
struct ThreadPart {
  LoopForm form = LoopForm::kPoints;
  int vector_dim = -1;
  int width = 1;      // Elements of a vector.
  int vectors = 1;    // In flight at a time, or kept.
  bool kept = false;  // Temporaries stay in registers.
};

// Registers of 32 bits that hold what is needed at a time: an upper bound, as if all vectors went
// through a stage's body in step. The code is reordered with fewer in mind, but not by much where
// values are needed again later.
int LiveValues(const LoopFunc& func, const ThreadPart& part);

// Operations of all copies that are made of the stages' bodies, one for each element of a thread,
// in units of an addition.
std::int64_t EmittedOperations(const LoopFunc& func, const ThreadPart& part);

}  // namespace stoker::cuda
