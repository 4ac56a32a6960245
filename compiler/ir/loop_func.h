// LoopFunc: pointwise work and reductions over one iteration space.
//
// dims[0 .. num_outer) are parallel: every point of them is independent. For each outer point the
// stages run in order. A stage loops over `loops` (inner dims, outermost first; the last one is
// vectorized), evaluates its body, and then
//   - stores values to buffers,
//   - keeps values in row temporaries (scratch, indexed by the stage's loop dims),
//   - reduces values over the dims in `reduction.over`, a subset of `loops`.
// A reduction's result is seen by later stages as kInput with the reduction's id: a scalar when all
// loop dims are reduced, otherwise one value per point of the kept loop dims. Temporaries are seen
// through kInput with the temporary's id, at the same point of the loop dims they were written at.
//
// Softmax over N columns: outer [rows], inner [N]
//   stage 0: loops [N]  r0 = max x
//   stage 1: loops [N]  t1 = exp(x - r0); r2 = add t1
//   stage 2: loops [N]  store t1 / r2
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/body.h"
#include "protocol/base/result.h"
#include "protocol/graph/combine.h"

namespace stoker {

struct Reduction {
  std::uint32_t id = 0;     // Unique among reductions and temporaries of the function.
  std::uint32_t value = 0;  // Body instruction.
  Combine kind = Combine::kAdd;
  DType dtype = DType::kF32;  // Accumulator; f32 for f16/bf16/f32 inputs.
  std::vector<int> over;      // Inner dims, a subset of the stage's loops.
  // Result i64: first index (row-major over the reduced dims) of the extreme; NaN counts as the
  // extreme.
  bool is_arg = false;
};

struct Temporary {
  std::uint32_t id = 0;
  std::uint32_t value = 0;
  DType dtype = DType::kF32;
};

struct Stage {
  std::vector<int> loops;  // Dim numbers >= num_outer.
  Body body;
  std::vector<Store> stores;
  std::vector<Temporary> temporaries;
  std::vector<Reduction> reductions;
};

struct Operand {
  DType dtype = DType::kF32;
  bool written = false;
  bool may_read_past_end = false;  // kBufferReadSlack holds for it.
};

struct LoopFunc {
  std::vector<SymDim> dims;  // Extents; constants, or expressions passed through `dims` at launch.
  int num_outer = 0;
  std::vector<Operand> operands;  // In launch buffer order.
  std::vector<Stage> stages;
};

inline bool Contains(const std::vector<int>& dims, int dim) {
  return std::find(dims.begin(), dims.end(), dim) != dims.end();
}

std::string ToString(const LoopFunc& func);  // Canonical: equal text means equal kernel.
Status Verify(const LoopFunc& func);

}  // namespace stoker
