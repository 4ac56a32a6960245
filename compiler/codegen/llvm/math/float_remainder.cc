#include "compiler/codegen/llvm/math/float_lanes.h"
#include "compiler/codegen/llvm/math/vector_math.h"

namespace stoker::codegen {
namespace {

class LongDivision : public FloatLanes {
 public:
  using FloatLanes::FloatLanes;
  Value* Remainder(Value* x, Value* y);
};

// Long division: each step takes off a multiple of |y| * 2^k whose quotient is a small integer, so
// that nothing is rounded.
Value* LongDivision::Remainder(Value* x, Value* y) {
  Value* dividend = Abs(x);
  Value* divisor = Abs(y);
  Value* valid = b_.CreateAnd(b_.CreateFCmpOLT(dividend, K(kInfinity)),
                              b_.CreateFCmpOGT(divisor, K(0)));  // Neither is NaN.
  Value* start = Select(valid, dividend, K(0));
  divisor = Select(valid, divisor, K(1));
  Value* divisor_exponent = ExponentField(divisor);

  Values state = {start};
  const auto more = [&](const Values& values) { return b_.CreateFCmpOGE(values[0], divisor); };
  const auto any = [&](const Values& values) {
    Value* lanes = more(values);
    return KernelEmitter::WidthOf(lanes) == 1 ? lanes : b_.CreateOrReduce(lanes);
  };
  emitter_.While(state, any, [&](Values& values) {
    Value* rest = values[0];
    Value* active = more(values);
    const std::int64_t quotient_bits = mantissa_bits_ - 2;
    Value* distance = b_.CreateSub(ExponentField(rest), divisor_exponent);
    Value* k = b_.CreateSub(distance, I(quotient_bits));
    k = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, k, I(0));
    k = Select(active, k, I(0));
    const auto power = [&](Value* n) {
      return FromBits(b_.CreateShl(b_.CreateAdd(n, I(bias_)), I(mantissa_bits_)));
    };
    // 2^k may be beyond the format where the product is not.
    Value* quarter = b_.CreateLShr(k, I(2));
    Value* rest_of_k = b_.CreateSub(k, b_.CreateMul(quarter, I(3)));
    Value* scaled = Mul(divisor, power(rest_of_k));
    for (int i = 0; i < 3; ++i) scaled = Mul(scaled, power(quarter));
    Value* quotient = Trunc(Div(rest, scaled));
    Value* next = Fma(Neg(quotient), scaled, rest);
    next = Select(b_.CreateFCmpOLT(next, K(0)), Add(next, scaled), next);
    values[0] = Select(active, next, rest);
  });
  return Select(valid, CopySign(state[0], x), K(kNaN));
}

}  // namespace

Value* EmitFloatRemainder(KernelEmitter& emitter, Value* x, Value* y) {
  return LongDivision(emitter, x->getType()).Remainder(x, y);
}

}  // namespace stoker::codegen
