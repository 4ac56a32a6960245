#include "compiler/codegen/llvm/math/float_lanes.h"

namespace stoker::codegen {

Value* FloatLanes::Ratio(Value* x, Value* y) {
  Value* over = emitter_.ReciprocalInHardware(y);
  if (over == nullptr) return Div(x, y);
  Value* q = Mul(x, over);
  // What is too much of it, in signs that leave a zero its own.
  Value* excess = Fma(q, y, Neg(x));
  return Fma(Neg(excess), over, q);
}

Value* FloatLanes::Scale(Value* x, Value* n) {
  if (Value* scaled = emitter_.ScaleInHardware(x, n)) return scaled;
  Value* half = Add(Mul(n, K(0.5)), K(magic_));
  Value* rest = Add(Sub(n, Sub(half, K(magic_))), K(magic_));
  return Mul(Mul(x, PowerOfTwo(half)), PowerOfTwo(rest));
}

Value* FloatLanes::ExponentField(Value* x) {
  Value* subnormal = b_.CreateFCmpOLT(x, K(least_normal_));
  Value* normal = Select(subnormal, Mul(x, K(single_ ? 0x1p23 : 0x1p54)), x);
  Value* field = b_.CreateLShr(Bits(normal), I(mantissa_bits_));
  return b_.CreateSub(field, Select(subnormal, I(single_ ? 23 : 54), I(0)));
}

}  // namespace stoker::codegen
