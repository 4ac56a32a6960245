// How each pointwise op is emitted and how far from exact that is: one row each.
#pragma once

#include "compiler/codegen/llvm/body/arithmetic.h"
#include "protocol/graph/op_kind.h"

namespace stoker::codegen {

struct PointwiseEmitter {
  OpKind kind;
  Value* (*emit)(Arithmetic& lanes, const BodyInstr& instr, llvm::ArrayRef<Value*> args);
  // The largest error in f32 and f64, as in accuracy.h; 0 also of what gives no floats.
  double f32_ulps;
  double f64_ulps;
  double gpu_f32_ulps = 0;     // Where it is more in f32 on GPUs.
  double gpu_narrow_ulps = 0;  // Where it is more in f32 there that is rounded to 16 bits.
};

const PointwiseEmitter& EmitterOf(OpKind kind);

}  // namespace stoker::codegen
