// Arithmetic on lanes of one dtype, semantics of OPS.md.
#pragma once

#include "compiler/codegen/llvm/emitter.h"
#include "compiler/ir/body.h"

namespace stoker::codegen {

using llvm::Value;

// Values are in registers' form and of one width.
class Arithmetic {
 public:
  Arithmetic(KernelEmitter& emitter, DType dtype, int width)
      : emitter_(emitter),
        b_(emitter.b()),
        dtype_(dtype),
        type_(KernelEmitter::VectorOf(emitter.LaneType(dtype), width)),
        width_(width) {}

  KernelEmitter& emitter() { return emitter_; }
  llvm::IRBuilder<>& b() { return b_; }
  bool is_float() const { return IsFloat(dtype_); }
  Value* Int(std::int64_t v) { return KernelEmitter::IntOf(type_, v); }
  Value* Float(double v) { return llvm::ConstantFP::get(type_, v); }
  Value* Unary(llvm::Intrinsic::ID id, Value* x) { return b_.CreateUnaryIntrinsic(id, x); }

  Value* Abs(Value* x);
  Value* Negate(Value* x) { return is_float() ? b_.CreateFNeg(x) : b_.CreateNeg(x); }
  Value* Sign(Value* x);
  Value* Add(Value* x, Value* y) { return is_float() ? b_.CreateFAdd(x, y) : b_.CreateAdd(x, y); }
  Value* Subtract(Value* x, Value* y) {
    return is_float() ? b_.CreateFSub(x, y) : b_.CreateSub(x, y);
  }
  Value* Multiply(Value* x, Value* y) {
    return is_float() ? b_.CreateFMul(x, y) : b_.CreateMul(x, y);
  }
  Value* Second(Value*, Value* y) { return y; }
  Value* Maximum(Value* x, Value* y);
  Value* Minimum(Value* x, Value* y);
  Value* Divide(Value* x, Value* y);
  Value* Remainder(Value* x, Value* y);
  Value* Clamp(Value* low, Value* x, Value* high) { return Minimum(Maximum(x, low), high); }
  Value* LogAddExp(Value* x, Value* y);  // Of f64.
  Value* IsFinite(Value* x);
  Value* IsNan(Value* x) { return b_.CreateFCmpUNO(x, x); }

  // Of integers, as are shifts.
  Value* IntegerPower(Value* base, Value* exponent);
  Value* ShiftLeft(Value* x, Value* amount);
  Value* ShiftRightArithmetic(Value* x, Value* amount);
  Value* ShiftRightLogical(Value* x, Value* amount);
  Value* Not(Value* x) { return b_.CreateNot(x); }
  Value* And(Value* x, Value* y) { return b_.CreateAnd(x, y); }
  Value* Or(Value* x, Value* y) { return b_.CreateOr(x, y); }
  Value* Xor(Value* x, Value* y) { return b_.CreateXor(x, y); }

  Value* Compare(CompareDirection direction, Value* x, Value* y);
  Value* Select(Value* predicate, Value* x, Value* y);
  // From dtype_ to `to`; `round_to` as in BodyInstr.
  Value* Convert(DType to, DType round_to, Value* x);
  // The same bits as `to`; `format`: f16 or bf16 where one of the two is.
  Value* Bitcast(DType to, DType format, Value* x);

 private:
  bool IsSigned() const { return dtype_ != DType::kU8 && dtype_ != DType::kBool; }
  Value* Quotient(Value* x, Value* y);
  Value* SafeDivisor(Value* y);
  Value* InRange(Value* amount);
  Value* Truncated(DType to, Value* x);

  KernelEmitter& emitter_;
  llvm::IRBuilder<>& b_;
  DType dtype_;
  llvm::Type* type_;
  int width_;
};

}  // namespace stoker::codegen
