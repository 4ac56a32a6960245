#include "compiler/codegen/llvm/body/pointwise.h"

#include <llvm/IR/Intrinsics.h>

#include <limits>

#include "compiler/codegen/llvm/math/float_rounding.h"
#include "compiler/codegen/llvm/math/vector_math.h"

namespace stoker::codegen {
namespace {

using llvm::Value;

bool IsSigned(DType dtype) { return dtype != DType::kU8 && dtype != DType::kBool; }

// Emits one operation on operands of one dtype.
class Pointwise {
 public:
  Pointwise(KernelEmitter& emitter, DType dtype, int width)
      : emitter_(emitter),
        b_(emitter.b()),
        dtype_(dtype),
        type_(KernelEmitter::VectorOf(emitter.LaneType(dtype), width)),
        width_(width) {}

  bool is_float() const { return IsFloat(dtype_); }
  Value* Int(std::int64_t v) { return KernelEmitter::IntOf(type_, v); }
  Value* Float(double v) { return llvm::ConstantFP::get(type_, v); }
  Value* Unary(llvm::Intrinsic::ID id, Value* x) { return b_.CreateUnaryIntrinsic(id, x); }

  Value* Abs(Value* x) {
    if (is_float()) return Unary(llvm::Intrinsic::fabs, x);
    if (!IsSigned(dtype_)) return x;
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, b_.getFalse());
  }

  Value* Sign(Value* x) {
    if (is_float()) {
      Value* one = b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, Float(1), x);
      Value* ordinary = b_.CreateFCmpONE(x, Float(0));  // Zeros and NaN stay what they are.
      return b_.CreateSelect(ordinary, one, x);
    }
    Value* zero = Int(0);
    Value* positive = IsSigned(dtype_) ? b_.CreateICmpSGT(x, zero) : b_.CreateICmpNE(x, zero);
    Value* result = b_.CreateZExt(positive, type_);
    if (!IsSigned(dtype_)) return result;
    return b_.CreateOr(result, b_.CreateSExt(b_.CreateICmpSLT(x, zero), type_));
  }

  Value* Add(Value* x, Value* y) { return is_float() ? b_.CreateFAdd(x, y) : b_.CreateAdd(x, y); }
  Value* Subtract(Value* x, Value* y) {
    return is_float() ? b_.CreateFSub(x, y) : b_.CreateSub(x, y);
  }
  Value* Multiply(Value* x, Value* y) {
    return is_float() ? b_.CreateFMul(x, y) : b_.CreateMul(x, y);
  }

  // The machine's max and min return their second operand when the two do not compare: y's NaN
  // passes, x's is put back.
  Value* Maximum(Value* x, Value* y) {
    if (is_float()) {
      Value* larger = b_.CreateSelect(b_.CreateFCmpOGT(x, y), x, y);
      return b_.CreateSelect(b_.CreateFCmpUNO(x, x), x, larger);
    }
    return b_.CreateBinaryIntrinsic(
        IsSigned(dtype_) ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, x, y);
  }
  Value* Minimum(Value* x, Value* y) {
    if (is_float()) {
      Value* smaller = b_.CreateSelect(b_.CreateFCmpOLT(x, y), x, y);
      return b_.CreateSelect(b_.CreateFCmpUNO(x, x), x, smaller);
    }
    return b_.CreateBinaryIntrinsic(
        IsSigned(dtype_) ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, x, y);
  }

  // Quotient toward zero of integers; the divisor is not 0, and not -1 under the lowest value.
  Value* Quotient(Value* x, Value* y) {
    const int bits = static_cast<int>(type_->getScalarSizeInBits());
    if (width_ == 1 || bits == 64) {
      return IsSigned(dtype_) ? b_.CreateSDiv(x, y) : b_.CreateUDiv(x, y);
    }
    // There is no vector integer division; in f64 (f32 for 8 and 16 bits) it is exact after
    // truncation, because a quotient that is not whole is further from the next integer than half
    // an ulp.
    llvm::Type* real =
        KernelEmitter::VectorOf(bits == 32 ? b_.getDoubleTy() : b_.getFloatTy(), width_);
    const auto to_real = [&](Value* v) {
      return IsSigned(dtype_) ? b_.CreateSIToFP(v, real) : b_.CreateUIToFP(v, real);
    };
    Value* quotient = b_.CreateFDiv(to_real(x), to_real(y));
    if (bits == 32) return b_.CreateFPToSI(quotient, type_);
    llvm::Type* i32 = KernelEmitter::VectorOf(b_.getInt32Ty(), width_);
    return b_.CreateTrunc(b_.CreateFPToSI(quotient, i32), type_);
  }

  // Divisor 1 where the machine would trap.
  Value* SafeDivisor(Value* y) {
    Value* unsafe = b_.CreateICmpEQ(y, Int(0));
    if (IsSigned(dtype_)) unsafe = b_.CreateOr(unsafe, b_.CreateICmpEQ(y, Int(-1)));
    return b_.CreateSelect(unsafe, Int(1), y);
  }

  Value* Divide(Value* x, Value* y) {
    if (is_float()) return b_.CreateFDiv(x, y);
    Value* quotient = Quotient(x, SafeDivisor(y));
    if (IsSigned(dtype_)) {
      quotient = b_.CreateSelect(b_.CreateICmpEQ(y, Int(-1)), b_.CreateNeg(x), quotient);
    }
    return b_.CreateSelect(b_.CreateICmpEQ(y, Int(0)), Int(-1), quotient);
  }

  Value* Remainder(Value* x, Value* y) {
    if (is_float()) return EmitFloatRemainder(emitter_, x, y);
    Value* divisor = SafeDivisor(y);
    Value* rest = b_.CreateSub(x, b_.CreateMul(Quotient(x, divisor), divisor));
    return b_.CreateSelect(b_.CreateICmpEQ(y, Int(0)), x, rest);
  }

  // Exponentiation by squaring.
  Value* IntegerPower(Value* base, Value* exponent) {
    Value* zero = Int(0);
    Value* one = Int(1);
    Values state = {one, base, exponent};
    const std::int64_t steps = type_->getScalarSizeInBits();
    emitter_.For(emitter_.I64(0), emitter_.I64(steps), 1, state, [&](Value*, Values& s) {
      Value* odd = b_.CreateICmpNE(b_.CreateAnd(s[2], one), zero);
      s[0] = b_.CreateSelect(odd, b_.CreateMul(s[0], s[1]), s[0]);
      s[1] = b_.CreateMul(s[1], s[1]);
      s[2] = b_.CreateLShr(s[2], one);
    });
    if (!IsSigned(dtype_)) return state[0];
    // 1 / base^|exponent|: 1 and -1 survive.
    Value* parity = b_.CreateICmpEQ(b_.CreateAnd(exponent, one), zero);
    Value* unit = b_.CreateSelect(parity, one, base);
    Value* inverse = b_.CreateSelect(b_.CreateICmpEQ(base, Int(-1)), unit, zero);
    inverse = b_.CreateSelect(b_.CreateICmpEQ(base, one), one, inverse);
    return b_.CreateSelect(b_.CreateICmpSLT(exponent, zero), inverse, state[0]);
  }

  Value* Shift(OpKind kind, Value* x, Value* amount) {
    const std::int64_t bits = type_->getScalarSizeInBits();
    Value* in_range = b_.CreateICmpULT(amount, Int(bits));
    if (kind == OpKind::kShiftRightArithmetic && IsSigned(dtype_)) {
      return b_.CreateAShr(x, b_.CreateSelect(in_range, amount, Int(bits - 1)));
    }
    Value* safe = b_.CreateSelect(in_range, amount, Int(0));
    Value* shifted = kind == OpKind::kShiftLeft ? b_.CreateShl(x, safe) : b_.CreateLShr(x, safe);
    return b_.CreateSelect(in_range, shifted, Int(0));
  }

  Value* Compare(CompareDirection direction, Value* x, Value* y) {
    using llvm::CmpInst;
    const bool is_signed = IsSigned(dtype_);
    CmpInst::Predicate predicate = CmpInst::BAD_ICMP_PREDICATE;
    const auto choose = [&](CmpInst::Predicate f, CmpInst::Predicate s, CmpInst::Predicate u) {
      predicate = is_float() ? f : is_signed ? s : u;
    };
    switch (direction) {
      case CompareDirection::kEq:
        choose(CmpInst::FCMP_OEQ, CmpInst::ICMP_EQ, CmpInst::ICMP_EQ);
        break;
      case CompareDirection::kNe:
        choose(CmpInst::FCMP_UNE, CmpInst::ICMP_NE, CmpInst::ICMP_NE);
        break;
      case CompareDirection::kLt:
        choose(CmpInst::FCMP_OLT, CmpInst::ICMP_SLT, CmpInst::ICMP_ULT);
        break;
      case CompareDirection::kLe:
        choose(CmpInst::FCMP_OLE, CmpInst::ICMP_SLE, CmpInst::ICMP_ULE);
        break;
      case CompareDirection::kGt:
        choose(CmpInst::FCMP_OGT, CmpInst::ICMP_SGT, CmpInst::ICMP_UGT);
        break;
      case CompareDirection::kGe:
        choose(CmpInst::FCMP_OGE, CmpInst::ICMP_SGE, CmpInst::ICMP_UGE);
        break;
    }
    return b_.CreateCmp(predicate, x, y);
  }

  // From dtype_ to `to`; `round_to` as in BodyInstr.
  Value* Convert(DType to, DType round_to, Value* x) {
    llvm::Type* type = KernelEmitter::VectorOf(emitter_.LaneType(to), width_);
    if (to == DType::kBool) {
      if (dtype_ == DType::kBool) return x;
      return is_float() ? b_.CreateFCmpUNE(x, Float(0)) : b_.CreateICmpNE(x, Int(0));
    }
    if (IsFloat(to)) {
      if (to == DType::kF32 && (round_to == DType::kF16 || round_to == DType::kBF16)) {
        if (dtype_ == DType::kF64) x = EmitFloatRoundedToOdd(emitter_, x);
        if (!is_float()) x = EmitFloatRoundedToOdd(emitter_, x, IsSigned(dtype_));
        return emitter_.FromMemory(round_to, emitter_.ToMemory(round_to, x));
      }
      if (dtype_ == DType::kF64 && to == DType::kF32) return EmitFloat(emitter_, x);
      if (is_float()) return b_.CreateFPCast(x, type);
      return IsSigned(dtype_) ? b_.CreateSIToFP(x, type) : b_.CreateUIToFP(x, type);
    }
    if (is_float()) return b_.CreateTrunc(Truncated(to, x), type);
    return IsSigned(dtype_) ? b_.CreateSExtOrTrunc(x, type) : b_.CreateZExtOrTrunc(x, type);
  }

  // A float toward zero, in as many bits as OPS.md says of `to`, or fewer that give the same.
  Value* Truncated(DType to, Value* x) {
    const bool is_single = type_->getScalarType()->isFloatTy();
    // Of what is a float, and no 32-bit number, the low eight bits are 0.
    const bool is_64 = to == DType::kI64 || (to == DType::kU8 && !is_single);
    llvm::Type* type = KernelEmitter::VectorOf(b_.getIntNTy(is_64 ? 64 : 32), width_);
    const double bound = is_64 ? 0x1p63 : 0x1p31;
    // Of doubles, there are some between the lowest 32-bit number and the one below it.
    Value* is_not_below = is_64 || is_single ? b_.CreateFCmpOGE(x, Float(-bound))
                                             : b_.CreateFCmpOGT(x, Float(-bound - 1));
    Value* fits = b_.CreateAnd(is_not_below, b_.CreateFCmpOLT(x, Float(bound)));
    Value* lowest = KernelEmitter::IntOf(type, is_64 ? INT64_MIN : INT32_MIN);
    return b_.CreateSelect(fits, b_.CreateFPToSI(x, type), lowest);
  }

  Value* Bitcast(DType to, DType format, Value* x) {
    llvm::Type* type = KernelEmitter::VectorOf(emitter_.LaneType(to), width_);
    const bool half = format == DType::kF16 || format == DType::kBF16;
    if (half && is_float()) return b_.CreateBitCast(emitter_.ToMemory(format, x), type);
    if (half && IsFloat(to)) {
      llvm::Type* memory = KernelEmitter::VectorOf(emitter_.MemoryType(format), width_);
      return emitter_.FromMemory(format, b_.CreateBitCast(x, memory));
    }
    if (dtype_ == DType::kBool) return b_.CreateZExt(x, type);
    if (to == DType::kBool) return b_.CreateICmpNE(x, Int(0));
    return b_.CreateBitCast(x, type);
  }

 private:
  KernelEmitter& emitter_;
  llvm::IRBuilder<>& b_;
  DType dtype_;
  llvm::Type* type_;
  int width_;
};

}  // namespace

Value* EmitPointwise(KernelEmitter& emitter, const BodyInstr& instr, DType arg_dtype,
                     llvm::ArrayRef<Value*> args) {
  llvm::IRBuilder<>& b = emitter.b();
  Pointwise p(emitter, arg_dtype, KernelEmitter::WidthOf(args.back()));
  Value* x = args[0];
  switch (instr.pointwise) {
    case OpKind::kAbs:
      return p.Abs(x);
    case OpKind::kNegate:
      return p.is_float() ? b.CreateFNeg(x) : b.CreateNeg(x);
    case OpKind::kSign:
      return p.Sign(x);
    case OpKind::kSqrt:
      return p.Unary(llvm::Intrinsic::sqrt, x);
    case OpKind::kRsqrt:
      return b.CreateFDiv(p.Float(1), p.Unary(llvm::Intrinsic::sqrt, x));
    case OpKind::kFloor:
      return p.Unary(llvm::Intrinsic::floor, x);
    case OpKind::kCeil:
      return p.Unary(llvm::Intrinsic::ceil, x);
    case OpKind::kTrunc:
      return p.Unary(llvm::Intrinsic::trunc, x);
    case OpKind::kRoundNearestEven:
      return p.Unary(llvm::Intrinsic::roundeven, x);
    case OpKind::kIsFinite:
      return b.CreateFCmpOLT(p.Abs(x), p.Float(std::numeric_limits<double>::infinity()));
    case OpKind::kIsNan:
      return b.CreateFCmpUNO(x, x);
    case OpKind::kNot:
      return b.CreateNot(x);
    case OpKind::kConvert:
      return p.Convert(instr.dtype, instr.round_to, x);
    case OpKind::kBitcastConvert:
      return p.Bitcast(instr.dtype, instr.round_to, x);
    case OpKind::kAdd:
      return p.Add(x, args[1]);
    case OpKind::kSubtract:
      return p.Subtract(x, args[1]);
    case OpKind::kMultiply:
      return p.Multiply(x, args[1]);
    case OpKind::kDivide:
      return p.Divide(x, args[1]);
    case OpKind::kRemainder:
      return p.Remainder(x, args[1]);
    case OpKind::kMaximum:
      return p.Maximum(x, args[1]);
    case OpKind::kMinimum:
      return p.Minimum(x, args[1]);
    case OpKind::kAnd:
      return b.CreateAnd(x, args[1]);
    case OpKind::kOr:
      return b.CreateOr(x, args[1]);
    case OpKind::kXor:
      return b.CreateXor(x, args[1]);
    case OpKind::kShiftLeft:
    case OpKind::kShiftRightArithmetic:
    case OpKind::kShiftRightLogical:
      return p.Shift(instr.pointwise, x, args[1]);
    case OpKind::kCompare:
      return p.Compare(instr.direction, x, args[1]);
    case OpKind::kSelect:
      return b.CreateSelect(x, args[1], args[2]);
    case OpKind::kClamp:
      return p.Minimum(p.Maximum(args[1], x), args[2]);
    case OpKind::kPower:
      if (!p.is_float()) return p.IntegerPower(x, args[1]);
      return EmitTranscendental(emitter, instr.pointwise, args, instr.round_to);
    case OpKind::kExponential:
    case OpKind::kExponential2:
    case OpKind::kExponentialMinusOne:
    case OpKind::kLog:
    case OpKind::kLog2:
    case OpKind::kLogPlusOne:
    case OpKind::kLogistic:
    case OpKind::kSine:
    case OpKind::kCosine:
    case OpKind::kTan:
    case OpKind::kAsin:
    case OpKind::kAcos:
    case OpKind::kAtan:
    case OpKind::kSinh:
    case OpKind::kCosh:
    case OpKind::kTanh:
    case OpKind::kErf:
    case OpKind::kAtan2:
      return EmitTranscendental(emitter, instr.pointwise, args, instr.round_to);
    case OpKind::kConstant:
    case OpKind::kIota:
    case OpKind::kBroadcastInDim:
    case OpKind::kReshape:
    case OpKind::kTranspose:
    case OpKind::kSlice:
    case OpKind::kReverse:
    case OpKind::kPad:
    case OpKind::kConcatenate:
    case OpKind::kReduce:
    case OpKind::kArgReduce:
    case OpKind::kReduceWindow:
    case OpKind::kCumulative:
    case OpKind::kDotGeneral:
    case OpKind::kConvolution:
    case OpKind::kGather:
    case OpKind::kScatter:
    case OpKind::kDynamicSlice:
    case OpKind::kDynamicUpdateSlice:
    case OpKind::kSort:
    case OpKind::kTopK:
    case OpKind::kAttention:
    case OpKind::kExternCall:
      break;
  }
  STOKER_CHECK(IsPointwise(instr.pointwise));
  return nullptr;
}

Value* EmitCombine(KernelEmitter& emitter, ReduceKind kind, DType dtype, Value* x, Value* y) {
  Pointwise p(emitter, dtype, KernelEmitter::WidthOf(x));
  switch (kind) {
    case ReduceKind::kAdd:
      return p.Add(x, y);
    case ReduceKind::kMultiply:
      return p.Multiply(x, y);
    case ReduceKind::kMaximum:
      return p.Maximum(x, y);
    case ReduceKind::kMinimum:
      return p.Minimum(x, y);
    case ReduceKind::kAnd:
      return emitter.b().CreateAnd(x, y);
    case ReduceKind::kOr:
      return emitter.b().CreateOr(x, y);
    case ReduceKind::kArgMaximum:
    case ReduceKind::kArgMinimum:
      break;
  }
  STOKER_CHECK(!IsArg(kind));
  return nullptr;
}

llvm::Constant* ReduceIdentity(KernelEmitter& emitter, ReduceKind kind, DType dtype) {
  llvm::Type* type = emitter.LaneType(dtype);
  const auto of = [&](double real, std::int64_t integer) -> llvm::Constant* {
    if (IsFloat(dtype)) return llvm::ConstantFP::get(type, real);
    return KernelEmitter::IntOf(type, integer);
  };
  const unsigned bits = type->getScalarSizeInBits();
  const std::int64_t lowest =
      IsSigned(dtype) ? llvm::APInt::getSignedMinValue(bits).getSExtValue() : 0;
  const std::int64_t highest =
      IsSigned(dtype) ? llvm::APInt::getSignedMaxValue(bits).getSExtValue() : -1;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (kind) {
    case ReduceKind::kAdd:
    case ReduceKind::kOr:
      return of(0, 0);
    case ReduceKind::kMultiply:
      return of(1, 1);
    case ReduceKind::kAnd:
      return of(0, -1);
    case ReduceKind::kMaximum:
    case ReduceKind::kArgMaximum:
      return of(-kInfinity, lowest);
    case ReduceKind::kMinimum:
    case ReduceKind::kArgMinimum:
      return of(kInfinity, highest);
  }
  STOKER_CHECK(false);
  return nullptr;
}

}  // namespace stoker::codegen
