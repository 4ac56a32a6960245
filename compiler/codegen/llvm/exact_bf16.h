// Which lanes of f32 hold numbers of bf16, moved or chosen and never computed with.
#pragma once

#include <llvm/IR/Value.h>

namespace stoker::codegen {

// Is `value` known to be f32 whose lower halves are zero? No where it cannot be seen.
bool IsExactBF16(const llvm::Value* value);

}  // namespace stoker::codegen
