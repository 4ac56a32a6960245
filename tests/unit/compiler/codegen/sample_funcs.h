// Loop functions that tests and benchmarks share.
#pragma once

#include "compiler/ir/loop_func.h"

namespace stoker {

// Operand 0 is x, operand 1 the result, both row-major [rows, columns] of `dtype`.
LoopFunc CopyFunc(SymDim rows, SymDim columns, DType dtype);
LoopFunc GeluErfFunc(SymDim rows, SymDim columns, DType dtype);
LoopFunc GeluTanhFunc(SymDim rows, SymDim columns, DType dtype);
LoopFunc SoftmaxFunc(SymDim rows, SymDim columns, DType dtype);
// Operands 2 and 3 are gamma and beta [columns] of f32.
LoopFunc LayerNormFunc(SymDim rows, std::int64_t columns, DType dtype);
// Operand 0 is x [reduced, columns], operand 1 the sums [columns].
LoopFunc ColumnSumFunc(std::int64_t reduced, std::int64_t columns, DType dtype);

}  // namespace stoker
