// Functions of float lanes for emitters of kernels; the pointwise ops: pointwise_table.h.
#pragma once

#include "compiler/codegen/llvm/emitter.h"

namespace stoker::codegen {

// exp of f32 or f64, as the op's.
llvm::Value* EmitExp(KernelEmitter& emitter, llvm::Value* x);

// exp of f32 lanes that are not NaN and at most a little above 0, as in softmax: about 1 ulp,
// results below the least normal number are 0.
llvm::Value* EmitExpNonPositive(KernelEmitter& emitter, llvm::Value* x);

// C fmod.
llvm::Value* EmitFloatRemainder(KernelEmitter& emitter, llvm::Value* x, llvm::Value* y);

}  // namespace stoker::codegen
