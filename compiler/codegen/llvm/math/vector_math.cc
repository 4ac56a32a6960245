#include "compiler/codegen/llvm/math/vector_math.h"

#include "compiler/codegen/llvm/math/exp_log.h"

namespace stoker::codegen {

Value* EmitExp(KernelEmitter& emitter, Value* x) { return ExpLog(emitter, x->getType()).Exp(x); }

Value* EmitExpNonPositive(KernelEmitter& emitter, Value* x) {
  return ExpLog(emitter, x->getType()).ExpFast(x);
}

}  // namespace stoker::codegen
