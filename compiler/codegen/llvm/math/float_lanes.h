// FloatLanes: arithmetic on lanes of one float type, f32 or f64, in the short forms that formulas
// are written in.
#pragma once

#include <llvm/IR/Intrinsics.h>

#include <initializer_list>
#include <limits>

#include "compiler/codegen/llvm/emitter.h"

namespace stoker::codegen {

using llvm::Value;
using Coefficients = std::initializer_list<double>;  // Of x^0, x^1, ...

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

class FloatLanes {
 public:
  // `for_single`: results of f64 will be rounded to f32.
  FloatLanes(KernelEmitter& emitter, llvm::Type* type, bool for_single = false)
      : emitter_(emitter),
        b_(emitter.b()),
        type_(type),
        single_(type->getScalarType()->isFloatTy()),
        for_single_(for_single),
        mantissa_bits_(single_ ? 23 : 52),
        bias_(single_ ? 127 : 1023),
        int_type_(IntegersOf(type)),
        magic_(single_ ? 0x1.8p23 : 0x1.8p52),
        least_normal_(single_ ? 0x1p-126 : 0x1p-1022) {}

 protected:
  Value* K(double value) { return llvm::ConstantFP::get(type_, value); }
  Value* I(std::int64_t value) { return KernelEmitter::IntOf(int_type_, value); }
  Value* Add(Value* x, Value* y) { return b_.CreateFAdd(x, y); }
  Value* Sub(Value* x, Value* y) { return b_.CreateFSub(x, y); }
  Value* Mul(Value* x, Value* y) { return b_.CreateFMul(x, y); }
  Value* Div(Value* x, Value* y) { return b_.CreateFDiv(x, y); }
  // x / y, rounded correctly or to the next, for a normal y that has a normal reciprocal and a
  // quotient that does not overflow.
  Value* Ratio(Value* x, Value* y);
  Value* Neg(Value* x) { return b_.CreateFNeg(x); }
  Value* Fma(Value* x, Value* y, Value* z) { return emitter_.Fma(x, y, z); }
  Value* Abs(Value* x) { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x); }
  Value* Sqrt(Value* x) { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x); }
  Value* Trunc(Value* x) { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, x); }
  Value* CopySign(Value* magnitude, Value* sign) {
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, magnitude, sign);
  }
  Value* Select(Value* condition, Value* x, Value* y) { return b_.CreateSelect(condition, x, y); }
  Value* Bits(Value* x) { return b_.CreateBitCast(x, int_type_); }
  Value* FromBits(Value* x) { return b_.CreateBitCast(x, type_); }
  // One machine instruction each; NaN passes.
  Value* AtMost(Value* x, double limit) {
    if (Value* least = emitter_.ExtremeInHardware(false, x, K(limit))) return least;
    return Select(b_.CreateFCmpOGT(x, K(limit)), K(limit), x);
  }
  Value* AtLeast(Value* x, double limit) {
    if (Value* largest = emitter_.ExtremeInHardware(true, x, K(limit))) return largest;
    return Select(b_.CreateFCmpOLT(x, K(limit)), K(limit), x);
  }
  Value* Polynomial(Value* x, Coefficients coefficients) {
    const double* at = coefficients.end();
    Value* sum = K(*--at);
    while (at != coefficients.begin()) sum = Fma(sum, x, K(*--at));
    return sum;
  }
  // 2^n for the integer n that is in the low bits of `magic_ + n`, n a normal exponent.
  Value* PowerOfTwo(Value* shifted) {
    Value* biased = b_.CreateAdd(Bits(shifted), I(bias_));
    return FromBits(b_.CreateShl(biased, I(mantissa_bits_)));
  }
  // x * 2^n, correctly rounded, for integral |n| up to twice the exponent range.
  Value* Scale(Value* x, Value* n);
  // The exponent of a positive number, as an integer; subnormals have theirs.
  Value* ExponentField(Value* x);

  KernelEmitter& emitter_;
  llvm::IRBuilder<>& b_;
  llvm::Type* type_;
  bool single_;
  bool for_single_;
  std::int64_t mantissa_bits_;
  std::int64_t bias_;
  llvm::Type* int_type_;
  double magic_;  // Adding it rounds to an integer, which then stands in the low bits.
  double least_normal_;

 private:
  static llvm::Type* IntegersOf(llvm::Type* type) {
    llvm::Type* lane = llvm::Type::getIntNTy(type->getContext(), type->getScalarSizeInBits());
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
    return vector == nullptr ? lane : llvm::FixedVectorType::get(lane, vector->getNumElements());
  }
};

}  // namespace stoker::codegen
