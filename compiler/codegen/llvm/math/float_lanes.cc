#include "compiler/codegen/llvm/math/float_lanes.h"

namespace stoker::codegen {

Value* FloatLanes::Scale(Value* x, Value* n) {
  const int width = KernelEmitter::WidthOf(x);
  if (emitter_.machine().avx512 && width * static_cast<int>(type_->getScalarSizeInBits()) == 512) {
    Value* rounding = b_.getInt32(4);  // The current mode.
    Value* all = single_ ? static_cast<Value*>(b_.getInt16(0xffff)) : b_.getInt8(0xff);
    const char* name =
        single_ ? "llvm.x86.avx512.mask.scalef.ps.512" : "llvm.x86.avx512.mask.scalef.pd.512";
    return emitter_.CallIntrinsic(name, {x, n, x, all, rounding});
  }
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
