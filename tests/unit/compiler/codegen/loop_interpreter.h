// Executes a LoopFunc point by point, as its contract says: the oracle of loop kernels. Floats are
// computed in f64 without rounding; of the pointwise operations only those that random functions
// are made of are known.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/loop_func.h"

namespace stoker {

// A value of any dtype: floats in `real`, the others in `integer`.
struct ScalarValue {
  double real = 0;
  std::int64_t integer = 0;
};

ScalarValue ReadElement(const std::string& bytes, DType dtype, std::int64_t element);
void WriteElement(std::string& bytes, DType dtype, std::int64_t element, ScalarValue value);

// Value of an index map at a point (one index per dim of the function).
std::int64_t EvaluateIndex(const IndexMap& index, const std::vector<std::int64_t>& point,
                           const SymBindings& symbols);

// Runs `func` on the bytes of its operands. Accesses must be in bounds.
void InterpretLoop(const LoopFunc& func, const SymBindings& symbols,
                   std::vector<std::string>& buffers);

}  // namespace stoker
