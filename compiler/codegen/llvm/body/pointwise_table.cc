#include "compiler/codegen/llvm/body/pointwise_table.h"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "compiler/codegen/llvm/math/exp_log.h"
#include "compiler/codegen/llvm/math/float_rounding.h"
#include "compiler/codegen/llvm/math/log_gamma.h"
#include "compiler/codegen/llvm/math/trigonometry.h"
#include "protocol/graph/op_table.h"

namespace stoker::codegen {
namespace {

using Args = llvm::ArrayRef<Value*>;

template <typename Lanes, typename... Operands>
Value* Call(Lanes& lanes, Value* (Lanes::*function)(Operands...), Args args) {
  return [&]<std::size_t... kPlace>(std::index_sequence<kPlace...>) {
    return (lanes.*function)(args[kPlace]...);
  }
  (std::index_sequence_for<Operands...>());
}

template <typename Lanes, typename... Operands>
Value* CallOn(KernelEmitter& emitter, Value* (Lanes::*function)(Operands...), Args args,
              bool for_single) {
  Lanes lanes(emitter, args[0]->getType(), for_single);
  return Call(lanes, function, args);
}

// An operation of Arithmetic.
template <auto kFunction>
Value* Basic(Arithmetic& lanes, const BodyInstr&, Args args) {
  return Call(lanes, kFunction, args);
}

// A machine instruction of one operand.
template <llvm::Intrinsic::ID kIntrinsic>
Value* Instruction(Arithmetic& lanes, const BodyInstr&, Args args) {
  return lanes.Unary(kIntrinsic, args[0]);
}

// A function of ExpLog or its like; f32 in f64, rounded once, where the op's row says so.
template <auto kFunction>
Value* Function(Arithmetic& lanes, const BodyInstr& instr, Args args) {
  KernelEmitter& emitter = lanes.emitter();
  const bool is_single = args[0]->getType()->getScalarType()->isFloatTy();
  if (!is_single || RowOf(instr.pointwise).f32_in == DType::kF32) {
    return CallOn(emitter, kFunction, args, false);
  }
  llvm::IRBuilder<>& b = emitter.b();
  llvm::Type* wide = KernelEmitter::VectorOf(b.getDoubleTy(), KernelEmitter::WidthOf(args[0]));
  Values wide_args;
  for (Value* arg : args) wide_args.push_back(b.CreateFPExt(arg, wide));
  Value* result = CallOn(emitter, kFunction, wide_args, true);
  const bool rounds_again = instr.round_to == DType::kF16 || instr.round_to == DType::kBF16;
  return rounds_again ? EmitFloatRoundedToOdd(emitter, result) : EmitFloat(emitter, result);
}

// A step of Newton's makes what an instruction gives as good as two that are rounded: y + y * (1 -
// x * y^2) / 2. Of zero, infinity and NaN that would be NaN, and y is exact.
Value* NearerReciprocalRoot(Arithmetic& lanes, Value* x, Value* y) {
  llvm::IRBuilder<>& b = lanes.b();
  KernelEmitter& emitter = lanes.emitter();
  Value* half = b.CreateFMul(y, lanes.Float(0.5));
  Value* error = emitter.Fma(b.CreateFNeg(b.CreateFMul(x, y)), half, lanes.Float(0.5));
  Value* nearer = emitter.Fma(y, error, y);
  return b.CreateSelect(b.CreateFCmpUNO(nearer, nearer), y, nearer);
}

Value* ReciprocalRoot(Arithmetic& lanes, const BodyInstr&, Args args) {
  if (Value* root = lanes.emitter().ReciprocalRootInHardware(args[0])) {
    return NearerReciprocalRoot(lanes, args[0], root);
  }
  return lanes.b().CreateFDiv(lanes.Float(1), lanes.Unary(llvm::Intrinsic::sqrt, args[0]));
}

Value* Power(Arithmetic& lanes, const BodyInstr& instr, Args args) {
  if (!lanes.is_float()) return lanes.IntegerPower(args[0], args[1]);
  return Function<&ExpLog::Power>(lanes, instr, args);
}

Value* Convert(Arithmetic& lanes, const BodyInstr& instr, Args args) {
  return lanes.Convert(instr.dtype, instr.round_to, args[0]);
}

Value* Bitcast(Arithmetic& lanes, const BodyInstr& instr, Args args) {
  return lanes.Bitcast(instr.dtype, instr.round_to, args[0]);
}

Value* Compare(Arithmetic& lanes, const BodyInstr& instr, Args args) {
  return lanes.Compare(instr.direction, args[0], args[1]);
}

Value* Require(Arithmetic& lanes, const BodyInstr& instr, Args args) {
  lanes.emitter().Require(args[0], instr.message);
  return args[0];
}

constexpr PointwiseEmitter kEmitters[] = {
    {OpKind::kAbs, Basic<&Arithmetic::Abs>, 0, 0},
    {OpKind::kNegate, Basic<&Arithmetic::Negate>, 0, 0},
    {OpKind::kSign, Basic<&Arithmetic::Sign>, 0, 0},
    {OpKind::kExponential, Function<&ExpLog::Exp>, 1.05, 1.25, 2.25, 112},
    {OpKind::kExponential2, Function<&ExpLog::Exp2>, 1.05, 1.25},
    {OpKind::kExponentialMinusOne, Function<&ExpLog::Expm1>, 0.51, 2},
    {OpKind::kLog, Function<&ExpLog::Log>, 1, 1},
    {OpKind::kLog2, Function<&ExpLog::Log2>, 1.8, 1.25},
    {OpKind::kLogPlusOne, Function<&ExpLog::Log1p>, 0.51, 2.5},
    {OpKind::kLogistic, Function<&ExpLog::Logistic>, 2.5, 2, 4, 114},
    {OpKind::kSqrt, Instruction<llvm::Intrinsic::sqrt>, 0.5, 0.5},
    {OpKind::kRsqrt, ReciprocalRoot, 1.5, 1.5},
    {OpKind::kSine, Function<&Trigonometry::Sin>, 0.6, 1.75},
    {OpKind::kCosine, Function<&Trigonometry::Cos>, 0.6, 1.75},
    {OpKind::kTan, Function<&Trigonometry::Tan>, 0.6, 3.5},
    {OpKind::kAsin, Function<&Trigonometry::Asin>, 0.51, 2.5},
    {OpKind::kAcos, Function<&Trigonometry::Acos>, 0.51, 2.5},
    {OpKind::kAtan, Function<&Trigonometry::Atan>, 0.51, 2},
    {OpKind::kSinh, Function<&ExpLog::Sinh>, 0.51, 2.5},
    {OpKind::kCosh, Function<&ExpLog::Cosh>, 0.51, 3},
    {OpKind::kTanh, Function<&ExpLog::Tanh>, 5.5, 2.5, 6},
    {OpKind::kErf, Function<&ExpLog::Erf>, 6, 1.5, 6.5},
    {OpKind::kFloor, Instruction<llvm::Intrinsic::floor>, 0, 0},
    {OpKind::kCeil, Instruction<llvm::Intrinsic::ceil>, 0, 0},
    {OpKind::kTrunc, Instruction<llvm::Intrinsic::trunc>, 0, 0},
    {OpKind::kRoundNearestEven, Instruction<llvm::Intrinsic::roundeven>, 0, 0},
    {OpKind::kIsFinite, Basic<&Arithmetic::IsFinite>, 0, 0},
    {OpKind::kIsNan, Basic<&Arithmetic::IsNan>, 0, 0},
    {OpKind::kNot, Basic<&Arithmetic::Not>, 0, 0},
    {OpKind::kConvert, Convert, 0.5, 0.5},
    {OpKind::kBitcastConvert, Bitcast, 0, 0},
    {OpKind::kAdd, Basic<&Arithmetic::Add>, 0.5, 0.5},
    {OpKind::kSubtract, Basic<&Arithmetic::Subtract>, 0.5, 0.5},
    {OpKind::kMultiply, Basic<&Arithmetic::Multiply>, 0.5, 0.5},
    {OpKind::kDivide, Basic<&Arithmetic::Divide>, 0.5, 0.5},
    {OpKind::kRemainder, Basic<&Arithmetic::Remainder>, 0, 0},
    {OpKind::kMaximum, Basic<&Arithmetic::Maximum>, 0, 0},
    {OpKind::kMinimum, Basic<&Arithmetic::Minimum>, 0, 0},
    {OpKind::kPower, Power, 0.51, 2},
    {OpKind::kAtan2, Function<&Trigonometry::Atan2>, 0.51, 2.5},
    {OpKind::kAnd, Basic<&Arithmetic::And>, 0, 0},
    {OpKind::kOr, Basic<&Arithmetic::Or>, 0, 0},
    {OpKind::kXor, Basic<&Arithmetic::Xor>, 0, 0},
    {OpKind::kShiftLeft, Basic<&Arithmetic::ShiftLeft>, 0, 0},
    {OpKind::kShiftRightArithmetic, Basic<&Arithmetic::ShiftRightArithmetic>, 0, 0},
    {OpKind::kShiftRightLogical, Basic<&Arithmetic::ShiftRightLogical>, 0, 0},
    {OpKind::kCompare, Compare, 0, 0},
    {OpKind::kSelect, Basic<&Arithmetic::Select>, 0, 0},
    {OpKind::kClamp, Basic<&Arithmetic::Clamp>, 0, 0},
    {OpKind::kErfc, Function<&ExpLog::Erfc>, 6, 4.75, 6.5},
    {OpKind::kLogGamma, Function<&LogGammaLanes::LogGamma>, 0.51, 8},
    {OpKind::kRequire, Require, 0, 0},
};
static_assert(HasEveryPointwiseOp(kEmitters));

}  // namespace

const PointwiseEmitter& EmitterOf(OpKind kind) {
  const auto* row = std::ranges::find(kEmitters, kind, &PointwiseEmitter::kind);
  STOKER_CHECK(row != std::end(kEmitters));
  return *row;
}

}  // namespace stoker::codegen
