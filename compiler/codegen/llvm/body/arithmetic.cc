#include "compiler/codegen/llvm/body/arithmetic.h"

#include <llvm/IR/Intrinsics.h>

#include <limits>

#include "compiler/codegen/llvm/math/exp_log.h"
#include "compiler/codegen/llvm/math/float_rounding.h"
#include "compiler/codegen/llvm/math/vector_math.h"

namespace stoker::codegen {

Value* Arithmetic::Abs(Value* x) {
  if (is_float()) return Unary(llvm::Intrinsic::fabs, x);
  if (!IsSigned()) return x;
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, b_.getFalse());
}

Value* Arithmetic::Sign(Value* x) {
  if (is_float()) {
    Value* one = b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, Float(1), x);
    Value* ordinary = b_.CreateFCmpONE(x, Float(0));  // Zeros and NaN stay what they are.
    return b_.CreateSelect(ordinary, one, x);
  }
  Value* zero = Int(0);
  Value* positive = IsSigned() ? b_.CreateICmpSGT(x, zero) : b_.CreateICmpNE(x, zero);
  Value* result = b_.CreateZExt(positive, type_);
  if (!IsSigned()) return result;
  return b_.CreateOr(result, b_.CreateSExt(b_.CreateICmpSLT(x, zero), type_));
}

// LLVM 22 makes `x > 0 ? 0 : x` of f16, compared as f32, a minimum that loses the sign of a zero,
// where it sees that both are the same x.
Value* Arithmetic::Select(Value* predicate, Value* x, Value* y) {
  const auto hidden = [&](Value* value) -> Value* {
    const auto* wider = llvm::dyn_cast<llvm::FPExtInst>(value);
    if (wider == nullptr || !wider->getSrcTy()->getScalarType()->isHalfTy()) return value;
    return b_.CreateIntrinsic(llvm::Intrinsic::arithmetic_fence, {value->getType()}, {value});
  };
  return b_.CreateSelect(predicate, hidden(x), hidden(y));
}

// The machine's max and min return their second operand when the two do not compare: y's NaN
// passes, x's is put back.
Value* Arithmetic::Maximum(Value* x, Value* y) {
  if (is_float()) {
    if (Value* largest = emitter_.ExtremeInHardware(true, x, y)) return largest;
    Value* larger = b_.CreateSelect(b_.CreateFCmpOGT(x, y), x, y);
    return b_.CreateSelect(b_.CreateFCmpUNO(x, x), x, larger);
  }
  return b_.CreateBinaryIntrinsic(IsSigned() ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, x, y);
}

Value* Arithmetic::Minimum(Value* x, Value* y) {
  if (is_float()) {
    if (Value* smallest = emitter_.ExtremeInHardware(false, x, y)) return smallest;
    Value* smaller = b_.CreateSelect(b_.CreateFCmpOLT(x, y), x, y);
    return b_.CreateSelect(b_.CreateFCmpUNO(x, x), x, smaller);
  }
  return b_.CreateBinaryIntrinsic(IsSigned() ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, x, y);
}

// Quotient toward zero of integers; the divisor is not 0, and not -1 under the lowest value.
Value* Arithmetic::Quotient(Value* x, Value* y) {
  const int bits = static_cast<int>(type_->getScalarSizeInBits());
  if (width_ == 1 || bits == 64) {
    return IsSigned() ? b_.CreateSDiv(x, y) : b_.CreateUDiv(x, y);
  }
  // There is no vector integer division; in f64 (f32 for 8 and 16 bits) it is exact after
  // truncation, because a quotient that is not whole is further from the next integer than half
  // an ulp.
  llvm::Type* real =
      KernelEmitter::VectorOf(bits == 32 ? b_.getDoubleTy() : b_.getFloatTy(), width_);
  const auto to_real = [&](Value* v) {
    return IsSigned() ? b_.CreateSIToFP(v, real) : b_.CreateUIToFP(v, real);
  };
  Value* quotient = b_.CreateFDiv(to_real(x), to_real(y));
  if (bits == 32) return b_.CreateFPToSI(quotient, type_);
  llvm::Type* i32 = KernelEmitter::VectorOf(b_.getInt32Ty(), width_);
  return b_.CreateTrunc(b_.CreateFPToSI(quotient, i32), type_);
}

// Divisor 1 where the machine would trap.
Value* Arithmetic::SafeDivisor(Value* y) {
  Value* unsafe = b_.CreateICmpEQ(y, Int(0));
  if (IsSigned()) unsafe = b_.CreateOr(unsafe, b_.CreateICmpEQ(y, Int(-1)));
  return b_.CreateSelect(unsafe, Int(1), y);
}

Value* Arithmetic::Divide(Value* x, Value* y) {
  if (is_float()) return b_.CreateFDiv(x, y);
  Value* quotient = Quotient(x, SafeDivisor(y));
  if (IsSigned()) {
    quotient = b_.CreateSelect(b_.CreateICmpEQ(y, Int(-1)), b_.CreateNeg(x), quotient);
  }
  return b_.CreateSelect(b_.CreateICmpEQ(y, Int(0)), Int(-1), quotient);
}

Value* Arithmetic::Remainder(Value* x, Value* y) {
  if (is_float()) return EmitFloatRemainder(emitter_, x, y);
  Value* divisor = SafeDivisor(y);
  Value* rest = b_.CreateSub(x, b_.CreateMul(Quotient(x, divisor), divisor));
  return b_.CreateSelect(b_.CreateICmpEQ(y, Int(0)), x, rest);
}

// Exponentiation by squaring.
Value* Arithmetic::IntegerPower(Value* base, Value* exponent) {
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
  if (!IsSigned()) return state[0];
  // 1 / base^|exponent|: 1 and -1 survive.
  Value* parity = b_.CreateICmpEQ(b_.CreateAnd(exponent, one), zero);
  Value* unit = b_.CreateSelect(parity, one, base);
  Value* inverse = b_.CreateSelect(b_.CreateICmpEQ(base, Int(-1)), unit, zero);
  inverse = b_.CreateSelect(b_.CreateICmpEQ(base, one), one, inverse);
  return b_.CreateSelect(b_.CreateICmpSLT(exponent, zero), inverse, state[0]);
}

Value* Arithmetic::LogAddExp(Value* x, Value* y) { return ExpLog(emitter_, type_).LogAddExp(x, y); }

Value* Arithmetic::IsFinite(Value* x) {
  return b_.CreateFCmpOLT(Abs(x), Float(std::numeric_limits<double>::infinity()));
}

Value* Arithmetic::InRange(Value* amount) {
  return b_.CreateICmpULT(amount, Int(type_->getScalarSizeInBits()));
}

Value* Arithmetic::ShiftLeft(Value* x, Value* amount) {
  Value* in_range = InRange(amount);
  Value* safe = b_.CreateSelect(in_range, amount, Int(0));
  return b_.CreateSelect(in_range, b_.CreateShl(x, safe), Int(0));
}

Value* Arithmetic::ShiftRightArithmetic(Value* x, Value* amount) {
  if (!IsSigned()) return ShiftRightLogical(x, amount);
  const std::int64_t bits = type_->getScalarSizeInBits();
  return b_.CreateAShr(x, b_.CreateSelect(InRange(amount), amount, Int(bits - 1)));
}

Value* Arithmetic::ShiftRightLogical(Value* x, Value* amount) {
  Value* in_range = InRange(amount);
  Value* safe = b_.CreateSelect(in_range, amount, Int(0));
  return b_.CreateSelect(in_range, b_.CreateLShr(x, safe), Int(0));
}

Value* Arithmetic::Compare(CompareDirection direction, Value* x, Value* y) {
  using llvm::CmpInst;
  const bool is_signed = IsSigned();
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
Value* Arithmetic::Convert(DType to, DType round_to, Value* x) {
  llvm::Type* type = KernelEmitter::VectorOf(emitter_.LaneType(to), width_);
  if (to == DType::kBool) {
    if (dtype_ == DType::kBool) return x;
    return is_float() ? b_.CreateFCmpUNE(x, Float(0)) : b_.CreateICmpNE(x, Int(0));
  }
  if (IsFloat(to)) {
    if (to == DType::kF32 && (round_to == DType::kF16 || round_to == DType::kBF16)) {
      if (dtype_ == DType::kF64) x = EmitFloatRoundedToOdd(emitter_, x);
      if (!is_float()) x = EmitFloatRoundedToOdd(emitter_, x, IsSigned());
      return emitter_.Round(round_to, x);
    }
    if (dtype_ == DType::kF64 && to == DType::kF32) return EmitFloat(emitter_, x);
    if (is_float()) return b_.CreateFPCast(x, type);
    return IsSigned() ? b_.CreateSIToFP(x, type) : b_.CreateUIToFP(x, type);
  }
  if (is_float()) return b_.CreateTrunc(Truncated(to, x), type);
  return IsSigned() ? b_.CreateSExtOrTrunc(x, type) : b_.CreateZExtOrTrunc(x, type);
}

// A float toward zero, in as many bits as OPS.md says of `to`, or fewer that give the same.
Value* Arithmetic::Truncated(DType to, Value* x) {
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

Value* Arithmetic::Bitcast(DType to, DType format, Value* x) {
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

}  // namespace stoker::codegen
