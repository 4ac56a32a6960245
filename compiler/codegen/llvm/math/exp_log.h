// Exponentials, logarithms and what is made of them, on lanes.
#pragma once

#include "compiler/codegen/llvm/math/float_lanes.h"

namespace stoker::codegen {

class ExpLog : public FloatLanes {
 public:
  using FloatLanes::FloatLanes;

  // f32 and f64.
  Value* Exp(Value* x);
  Value* Exp2(Value* x) { return Exp2Of(x, nullptr); }
  Value* Log(Value* x);
  Value* Log2(Value* x);
  Value* Logistic(Value* x);
  Value* Tanh(Value* x);
  Value* Erf(Value* x);
  Value* Erfc(Value* x);

  // f32, where EmitExpNonPositive is enough.
  Value* ExpFast(Value* x);
  // f32, where the emitter HasExp2 and hides_errors. 1 + erf(x), off by 2^-17 of itself from -4.5
  // on, below which it is 2^-32 or less.
  Value* OnePlusErf(Value* x);
  // exp((x - most) * scale), and all of a row times one factor between 2^(-1/2) and 2^(1/2); 0
  // where that is below the least normal number. `most` is the largest x, one lane or as many;
  // `scale` above 0 and 1 at most; `is_16_bit`: x is a 16-bit float, or one times a constant.
  Value* ExpBelow(Value* x, Value* most, double scale, bool is_16_bit);
  // x / 2 * (1 + erf(x / sqrt(2))), off by as much.
  Value* Gelu(Value* x);

  // f64.
  Value* Expm1(Value* x);
  Value* Log1p(Value* x);
  Value* Sinh(Value* x);
  Value* Cosh(Value* x);
  Value* Power(Value* x, Value* y);
  Value* LogAddExp(Value* x, Value* y);

 private:
  // A value and what was lost by rounding it.
  struct Double {
    Value* high;
    Value* low;
  };
  struct Exponent {
    Value* exponent;  // Integral.
    Value* fraction;  // mantissa - 1, mantissa in [sqrt(1/2), sqrt(2)).
  };

  Value* ReducedBy(Value* n, Value* x);
  Value* ExpOfReduced(Value* r);
  Value* ExpByExp2(Value* x);
  Value* Exp2Of(Value* x, Value* low);
  Exponent Split(Value* x);
  Value* LogOfFraction(Value* f);
  Value* LogDomain(Value* x, Value* log);
  Double Log2Double(Value* x);
};

}  // namespace stoker::codegen
