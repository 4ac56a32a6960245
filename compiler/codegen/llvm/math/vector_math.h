// Transcendental functions as inline polynomial code on lanes, f32 and f64, scalar or vector.
//
// accuracy.h says how far from exact; NaN, infinities, signed zeros and subnormal arguments give
// what C's libm gives.
#pragma once

#include "compiler/codegen/llvm/emitter.h"
#include "protocol/graph/op_kind.h"

namespace stoker::codegen {

// `kind` is one of the float-only pointwise operations of OPS.md that are not machine
// instructions; the element type follows from the arguments. `round_to` as in BodyInstr.
llvm::Value* EmitTranscendental(KernelEmitter& emitter, OpKind kind,
                                llvm::ArrayRef<llvm::Value*> args, DType round_to = DType::kF32);

// exp of f32 lanes that are not NaN and at most a little above 0, as in softmax: about 1 ulp,
// results below the least normal number are 0.
llvm::Value* EmitExpNonPositive(KernelEmitter& emitter, llvm::Value* x);

// C fmod.
llvm::Value* EmitFloatRemainder(KernelEmitter& emitter, llvm::Value* x, llvm::Value* y);

}  // namespace stoker::codegen
