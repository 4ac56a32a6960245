// One pointwise operation on lanes, semantics of OPS.md.
#pragma once

#include "compiler/codegen/llvm/emitter.h"
#include "compiler/ir/body.h"

namespace stoker::codegen {

// `args` are in registers' form and all of one width; `arg_dtype` is the dtype of the last operand
// (the one that tells signedness; the only one that differs is select's predicate).
llvm::Value* EmitPointwise(KernelEmitter& emitter, const BodyInstr& instr, DType arg_dtype,
                           llvm::ArrayRef<llvm::Value*> args);

// Combines two values of a reduction (not the arg kinds); `dtype` is that of the accumulator.
llvm::Value* EmitCombine(KernelEmitter& emitter, ReduceKind kind, DType dtype, llvm::Value* x,
                         llvm::Value* y);
// The value that changes nothing: a constant of lane type `dtype`.
llvm::Constant* ReduceIdentity(KernelEmitter& emitter, ReduceKind kind, DType dtype);

}  // namespace stoker::codegen
