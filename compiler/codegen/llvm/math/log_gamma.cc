#include "compiler/codegen/llvm/math/log_gamma.h"

namespace stoker::codegen {
namespace {

// Minimax fits, as in exp_log.cc.

// log_gamma(2 + v) / v on |v| <= 1/2.
constexpr Coefficients kNearTwo = {
    0.42278433509846713,    0.3224670334241133,     -0.06735230105319576,
    0.02058080842776596,    -0.00738555102892519,   0.00289051033184181,
    -0.0011927539013294563, 0.000509669495108569,   -0.00022315497226214475,
    9.945794424982207e-05,  -4.492377192143335e-05, 2.0503543451389396e-05,
    -9.456078923357037e-06, 4.3935231272934115e-06, -1.9748263924595634e-06,
    8.998966200290164e-07,  -5.806122676919726e-07, 2.977105346621547e-07};  // 1.1e-17
constexpr Coefficients kNearTwo32 = {
    0.4227843350983582,     0.32246703342026445,   -0.06735230101989835,   0.02058080886487118,
    -0.007385552706868994,  0.002890496249191707,  -0.001192722128166131,  0.0005098626063476064,
    -0.0002234396715471879, 9.818281284800474e-05, -4.363785384188451e-05, 2.4466538610560997e-05,
    -1.2212426631639782e-05};  // 4.3e-13
// (log_gamma(x) - (x - 1/2) (log(x) - 1) - kConstant) x over 1 / x^2, from kFar on.
constexpr double kFar = 5.5;
constexpr double kConstant = 0.41893853320467274178;  // log(2 pi) / 2 - 1 / 2
constexpr Coefficients kStirling = {
    0.08333333333333326,   -0.0027777777775383683, 0.0007936506748180549, -0.0005952158624679144,
    0.0008397473719100506, -0.001822507232997054,  0.004028190799609774};  // 7.9e-17
constexpr Coefficients kStirling32 = {0.08333333333322361, -0.0027777776085109946,
                                      0.0007936089177463382, -0.0005915776448594766,
                                      0.0007075603794568654};  // 1.1e-13
// sin(pi r) / (pi r) over r^2, |r| <= 1/2.
constexpr Coefficients kSineOfPi = {1.0,
                                    -1.6449340668482262,
                                    0.8117424252833373,
                                    -0.1907518241214305,
                                    0.026147847804529584,
                                    -0.0023460808868232814,
                                    0.00014842780086990739,
                                    -6.97200047193275e-06,
                                    2.4493078480875716e-07};  // 2.6e-19

}  // namespace

// Of x >= -1/2.
Value* LogGammaLanes::Above(Value* x) {
  // gamma(x) is a product of gamma(2 + v) with x - 1, x - 2, ..., or a quotient by x, or x (x + 1).
  Value* nearest = b_.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, x);
  Value* v = Sub(x, nearest);
  Value* quotient = b_.CreateFCmpOLT(nearest, K(2));
  Value* factor = Select(b_.CreateFCmpOLT(nearest, K(1)), Abs(Mul(x, Add(x, K(1)))), x);
  Value* product = K(1);
  for (int i = 1; i <= static_cast<int>(kFar) - 2; ++i) {
    Value* reached = b_.CreateFCmpOGT(nearest, K(i + 1));
    product = Mul(product, Select(reached, Sub(x, K(i)), K(1)));
  }
  factor = Select(quotient, factor, product);
  Value* is_far = b_.CreateFCmpOGE(x, K(kFar));
  Value* log = Log(Select(is_far, x, factor));
  Value* near =
      Fma(v, Polynomial(v, for_single_ ? kNearTwo32 : kNearTwo), Select(quotient, Neg(log), log));
  // Infinity stays infinity.
  Value* slope = Mul(Sub(x, K(0.5)), Sub(log, K(1)));
  Value* over = Div(K(1), x);
  Value* rest =
      Fma(over, Polynomial(Mul(over, over), for_single_ ? kStirling32 : kStirling), K(kConstant));
  return Select(is_far, Add(slope, rest), near);
}

// Of x < -1/2, `above` being that of -x: gamma(x) gamma(-x) = -pi / (x sin(pi x)).
Value* LogGammaLanes::Reflected(Value* x, Value* above) {
  Value* rest = Sub(x, b_.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, x));
  Value* sine = Mul(rest, Polynomial(Mul(rest, rest), kSineOfPi));
  Value* result = Neg(Add(Log(Abs(Mul(x, sine))), above));
  return Select(b_.CreateFCmpOEQ(Trunc(x), x), K(kInfinity), result);
}

Value* LogGammaLanes::LogGamma(Value* x) {
  Value* is_reflected = b_.CreateFCmpOLT(x, K(-0.5));
  Value* above = Above(Select(is_reflected, Neg(x), x));
  // Seldom are there any: once, or not at all.
  const auto width = static_cast<unsigned>(KernelEmitter::WidthOf(x));
  Value* any = b_.CreateIsNotNull(b_.CreateBitCast(is_reflected, b_.getIntNTy(width)));
  Values state = {above, any};
  emitter_.While(
      state, [](const Values& values) { return values[1]; },
      [&](Values& values) {
        values = {Select(is_reflected, Reflected(x, above), above), b_.getFalse()};
      });
  return state[0];
}

}  // namespace stoker::codegen
