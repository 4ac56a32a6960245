// Sine and its kin on lanes of f64.
#pragma once

#include "compiler/codegen/llvm/math/float_lanes.h"

namespace stoker::codegen {

class Trigonometry : public FloatLanes {
 public:
  // `for_single`: the result will be rounded to f32.
  Trigonometry(KernelEmitter& emitter, llvm::Type* type, bool for_single)
      : FloatLanes(emitter, type), for_single_(for_single) {}

  Value* Sin(Value* x) { return SinCos(x, false); }
  Value* Cos(Value* x) { return SinCos(x, true); }
  Value* Tan(Value* x);
  Value* Asin(Value* x) { return CopySign(Atan(Div(x, Sqrt(Mul(Sub(K(1), x), Add(K(1), x))))), x); }
  Value* Acos(Value* x) { return Mul(Atan(Sqrt(Div(Sub(K(1), x), Add(K(1), x)))), K(2)); }
  Value* Atan(Value* x);
  Value* Atan2(Value* y, Value* x);

 private:
  struct Reduced {
    Value* rest;      // |rest| <= pi/4
    Value* quadrant;  // Integer; its low two bits count quarter turns.
  };

  Reduced Reduce(Value* x);
  Reduced ReduceLarge(Value* x, Reduced plain);  // `plain` but for lanes too large for it.
  Reduced ReduceByProduct(Value* x);             // Of one large finite double.
  llvm::Function* ReductionByProduct();          // That of ReduceByProduct.
  Value* TwoOverPi();
  Value* SinOf(Value* r);
  Value* CosOf(Value* r);
  Value* SinCos(Value* x, bool cosine);

  bool for_single_;
};

}  // namespace stoker::codegen
