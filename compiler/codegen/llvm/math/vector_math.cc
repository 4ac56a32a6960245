#include "compiler/codegen/llvm/math/vector_math.h"

#include "compiler/codegen/llvm/math/exp_log.h"
#include "compiler/codegen/llvm/math/float_rounding.h"
#include "compiler/codegen/llvm/math/trigonometry.h"

namespace stoker::codegen {
namespace {

// Those with f32 code of their own.
Value* EmitCommon(ExpLog& math, OpKind kind, Value* x) {
  if (kind == OpKind::kExponential) return math.Exp(x);
  if (kind == OpKind::kExponential2) return math.Exp2(x);
  if (kind == OpKind::kLog) return math.Log(x);
  if (kind == OpKind::kLog2) return math.Log2(x);
  if (kind == OpKind::kLogistic) return math.Logistic(x);
  if (kind == OpKind::kTanh) return math.Tanh(x);
  if (kind == OpKind::kErf) return math.Erf(x);
  return nullptr;
}

// The others, in f64.
Value* EmitRare(KernelEmitter& emitter, OpKind kind, llvm::ArrayRef<Value*> args, bool for_single) {
  Value* x = args[0];
  ExpLog math(emitter, x->getType());
  if (kind == OpKind::kExponentialMinusOne) return math.Expm1(x);
  if (kind == OpKind::kLogPlusOne) return math.Log1p(x);
  if (kind == OpKind::kSinh) return math.Sinh(x);
  if (kind == OpKind::kCosh) return math.Cosh(x);
  if (kind == OpKind::kPower) return math.Power(x, args[1]);
  Trigonometry trigonometry(emitter, x->getType(), for_single);
  if (kind == OpKind::kSine) return trigonometry.Sin(x);
  if (kind == OpKind::kCosine) return trigonometry.Cos(x);
  if (kind == OpKind::kTan) return trigonometry.Tan(x);
  if (kind == OpKind::kAsin) return trigonometry.Asin(x);
  if (kind == OpKind::kAcos) return trigonometry.Acos(x);
  if (kind == OpKind::kAtan) return trigonometry.Atan(x);
  STOKER_CHECK(kind == OpKind::kAtan2);
  return trigonometry.Atan2(x, args[1]);
}

}  // namespace

Value* EmitTranscendental(KernelEmitter& emitter, OpKind kind, llvm::ArrayRef<Value*> args,
                          DType round_to) {
  llvm::IRBuilder<>& b = emitter.b();
  llvm::Type* type = args[0]->getType();
  ExpLog math(emitter, type);
  if (Value* result = EmitCommon(math, kind, args[0])) return result;
  if (!type->getScalarType()->isFloatTy()) return EmitRare(emitter, kind, args, false);
  STOKER_CHECK(IsComputedInF64(kind));
  // f64 arithmetic, rounded once.
  llvm::Type* wide = KernelEmitter::VectorOf(b.getDoubleTy(), KernelEmitter::WidthOf(args[0]));
  Values wide_args;
  for (Value* arg : args) wide_args.push_back(b.CreateFPExt(arg, wide));
  Value* result = EmitRare(emitter, kind, wide_args, true);
  const bool rounds_again = round_to == DType::kF16 || round_to == DType::kBF16;
  return rounds_again ? EmitFloatRoundedToOdd(emitter, result) : EmitFloat(emitter, result);
}

Value* EmitExpNonPositive(KernelEmitter& emitter, Value* x) {
  return ExpLog(emitter, x->getType()).ExpFast(x);
}

}  // namespace stoker::codegen
