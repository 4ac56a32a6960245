// Transcendental functions as inline polynomial code on lanes, f32 and f64, scalar or vector.
//
// f32 results are within 4 ulp, f64 within a few 1e-16 relative of the function's own condition
// (sine and its kin lose accuracy beyond |x| = 1e9). NaN, infinities, signed zeros and subnormal
// arguments give what C's libm gives.
#pragma once

#include "compiler/codegen/emitter.h"
#include "protocol/graph/op_kind.h"

namespace stoker::codegen {

// `kind` is one of the float-only pointwise operations of OPS.md that are not machine
// instructions; the element type follows from the arguments.
llvm::Value* EmitTranscendental(KernelEmitter& emitter, OpKind kind,
                                llvm::ArrayRef<llvm::Value*> args);

// exp of f32 lanes that are not NaN and at most a little above 0, as in softmax: about 1 ulp,
// results below the least normal number are 0.
llvm::Value* EmitExpNonPositive(KernelEmitter& emitter, llvm::Value* x);

// C fmod.
llvm::Value* EmitFloatRemainder(KernelEmitter& emitter, llvm::Value* x, llvm::Value* y);

}  // namespace stoker::codegen
