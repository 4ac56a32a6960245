// f64 and integers to f32, perhaps on the way to f16 or bf16.
#pragma once

#include "compiler/codegen/llvm/emitter.h"

namespace stoker::codegen {

// f64 lanes as f32, to nearest: in place of fptrunc. What follows cannot be merged with what made
// `x`: LLVM 22 moves a copysign behind all roundings, and then rounds its f64 sign to f16, which is
// a library call without avx512_fp16.
llvm::Value* EmitFloat(KernelEmitter& emitter, llvm::Value* x);

// The same, rounded to odd: what is not exact goes to the neighbor with an odd last digit,
// and a further rounding to f16 or bf16 gives what a single one would. NaN stays NaN.
llvm::Value* EmitFloatRoundedToOdd(KernelEmitter& emitter, llvm::Value* x);

// The same for integer lanes of any size.
llvm::Value* EmitFloatRoundedToOdd(KernelEmitter& emitter, llvm::Value* x, bool is_signed);

}  // namespace stoker::codegen
