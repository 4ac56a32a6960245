#include "compiler/codegen/llvm/body/pointwise.h"

#include <iterator>

#include "compiler/codegen/llvm/body/pointwise_table.h"

namespace stoker::codegen {
namespace {

struct CombineEmitter {
  Combine combine;
  Value* (Arithmetic::*emit)(Value* x, Value* y);
};

constexpr CombineEmitter kCombineEmitters[] = {
    {Combine::kAssign, &Arithmetic::Second},
    {Combine::kAdd, &Arithmetic::Add},
    {Combine::kMultiply, &Arithmetic::Multiply},
    {Combine::kMaximum, &Arithmetic::Maximum},
    {Combine::kMinimum, &Arithmetic::Minimum},
    {Combine::kAnd, &Arithmetic::And},
    {Combine::kOr, &Arithmetic::Or},
    {Combine::kLogAddExp, &Arithmetic::LogAddExp},
};

constexpr bool IsInOrder() {
  for (int i = 0; i < kNumCombines; ++i) {
    if (kCombineEmitters[i].combine != static_cast<Combine>(i)) return false;
  }
  return std::size(kCombineEmitters) == kNumCombines;
}
static_assert(IsInOrder(), "Every row of combine.def has an emitter, in its order.");

}  // namespace

Value* EmitPointwise(KernelEmitter& emitter, const BodyInstr& instr, DType arg_dtype,
                     llvm::ArrayRef<Value*> args) {
  Arithmetic lanes(emitter, arg_dtype, KernelEmitter::WidthOf(args.back()));
  return EmitterOf(instr.pointwise).emit(lanes, instr, args);
}

Value* EmitCombine(KernelEmitter& emitter, Combine combine, DType dtype, Value* x, Value* y) {
  Arithmetic lanes(emitter, dtype, KernelEmitter::WidthOf(x));
  return (lanes.*kCombineEmitters[static_cast<std::size_t>(combine)].emit)(x, y);
}

llvm::Constant* CombineIdentity(KernelEmitter& emitter, Combine combine, DType dtype) {
  llvm::Type* type = emitter.LaneType(dtype);
  if (IsFloat(dtype)) return llvm::ConstantFP::get(type, FloatIdentity(combine));
  return KernelEmitter::IntOf(type, IntIdentity(combine, dtype));
}

}  // namespace stoker::codegen
