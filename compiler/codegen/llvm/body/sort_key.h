// What elements are sorted by.
#pragma once

#include "compiler/codegen/llvm/emitter.h"

namespace stoker::codegen {

// An unsigned integer of 32 bits, or 64 where the element has them, that is smaller for what comes
// first: `value` in registers' form. NaN counts as largest, and -0 as 0.
llvm::Value* SortKey(KernelEmitter& emitter, DType dtype, llvm::Value* value, bool descending);

}  // namespace stoker::codegen
