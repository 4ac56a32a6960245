#include "compiler/codegen/trigonometry.h"

namespace stoker::codegen {
namespace {

constexpr double kPi = 3.14159265358979323846;

// The polynomials are minimax fits (weighted for relative error of the function); the bound in the
// comment is the fit's, before rounding.

// (sin(x) - x) / x^3 and (cos(x) - 1 + x^2/2) / x^4 over x^2, |x| <= pi/4.
constexpr Coefficients kSin32 = {-0.166666542204405908, 0.00833213126143811532,
                                 -0.000195108139260737136};  // 3.9e-9
constexpr Coefficients kCos32 = {0.0416666456417384186, -0.00138873055886788461,
                                 0.0000244311602362558613};  // 1.1e-10
constexpr Coefficients kSin64 = {-0.166666666666666276,    0.00833333333332126999,
                                 -0.000198412698288601644, 2.75573133531064284e-6,
                                 -2.50507036454832584e-8,  1.58935637429268838e-10};  // 3.9e-18
constexpr Coefficients kCos64 = {0.041666666666666591,     -0.00138888888888725884,
                                 0.0000248015872884863767, -2.75573140551034636e-7,
                                 2.08756816984817341e-9,   -1.13574400960503518e-11};  // 5.5e-20
// (atan(x) - x) / x^3 over x^2, |x| <= tan(pi/8).
constexpr Coefficients kAtan64 = {
    -0.333333333333331848,  0.199999999999496873,  -0.142857142797849999,  0.111111107620640325,
    -0.090908971215251761,  0.0769204856271011174, -0.0666296813252076469, 0.0584687725422156386,
    -0.0503464890294059612, 0.0379440290801426546, -0.0177729439238617238};  // 1.4e-18

}  // namespace

// Cody and Waite's reduction in three parts; fused products are exact.
Trigonometry::Reduced Trigonometry::Reduce(Value* x) {
  Value* shifted = Fma(x, K(2 / kPi), K(magic_));
  Value* n = Sub(shifted, K(magic_));
  Value* r = Fma(n, K(-1.5707963267948966192), x);
  r = Fma(n, K(-6.1232339957367658860e-17), r);
  r = Fma(n, K(1.4973849048591833e-33), r);
  return {r, Bits(shifted)};
}

Value* Trigonometry::SinOf(Value* r) {
  Value* z = Mul(r, r);
  return Fma(Mul(z, r), Polynomial(z, for_single_ ? kSin32 : kSin64), r);
}

Value* Trigonometry::CosOf(Value* r) {
  Value* z = Mul(r, r);
  return Fma(Mul(z, z), Polynomial(z, for_single_ ? kCos32 : kCos64), Fma(z, K(-0.5), K(1)));
}

Value* Trigonometry::SinCos(Value* x, bool cosine) {
  const auto [r, quadrant] = Reduce(x);
  Value* turned = cosine ? b_.CreateAdd(quadrant, I(1)) : quadrant;
  Value* odd = b_.CreateICmpNE(b_.CreateAnd(turned, I(1)), I(0));
  Value* value = Select(odd, CosOf(r), SinOf(r));
  // The second bit of the quadrant is the sign.
  Value* sign = b_.CreateShl(b_.CreateAnd(turned, I(2)), I(62));
  Value* result = FromBits(b_.CreateXor(Bits(value), sign));
  return cosine ? result : Select(b_.CreateFCmpOEQ(x, K(0)), x, result);  // Keeps -0.
}

Value* Trigonometry::Tan(Value* x) {
  const auto [r, quadrant] = Reduce(x);
  Value* sine = SinOf(r);
  Value* cosine = CosOf(r);
  Value* odd = b_.CreateICmpNE(b_.CreateAnd(quadrant, I(1)), I(0));
  Value* result = Div(Select(odd, Neg(cosine), sine), Select(odd, sine, cosine));
  return Select(b_.CreateFCmpOEQ(x, K(0)), x, result);  // Keeps -0.
}

Value* Trigonometry::Atan(Value* x) {
  Value* magnitude = Abs(x);
  Value* large = b_.CreateFCmpOGT(magnitude, K(2.4142135623730950488));    // tan(3 pi / 8)
  Value* medium = b_.CreateFCmpOGT(magnitude, K(0.41421356237309504880));  // tan(pi / 8)
  // atan(a) = base + atan(n / d).
  Value* numerator = Select(large, K(-1), Select(medium, Sub(magnitude, K(1)), magnitude));
  Value* denominator = Select(large, magnitude, Select(medium, Add(magnitude, K(1)), K(1)));
  Value* base = Select(large, K(kPi / 2), Select(medium, K(kPi / 4), K(0)));
  Value* base_low =
      Select(large, K(6.123233995736766e-17), Select(medium, K(3.061616997868383e-17), K(0)));
  Value* r = Div(numerator, denominator);
  Value* z = Mul(r, r);
  Value* tail = Fma(Mul(z, r), Polynomial(z, kAtan64), base_low);
  return CopySign(Add(base, Add(r, tail)), x);
}

Value* Trigonometry::Atan2(Value* y, Value* x) {
  Value* ax = Abs(x);
  Value* ay = Abs(y);
  Value* steep = b_.CreateFCmpOGT(ay, ax);
  Value* low = Select(steep, ax, ay);
  Value* high = Select(steep, ay, ax);
  Value* ratio = Div(low, high);
  ratio = Select(b_.CreateFCmpOEQ(high, K(0)), K(0), ratio);
  ratio = Select(b_.CreateFCmpOEQ(low, K(kInfinity)), K(1), ratio);
  Value* angle = Atan(ratio);
  angle = Select(steep, Sub(K(kPi / 2), angle), angle);
  Value* negative = b_.CreateICmpSLT(Bits(x), I(0));
  angle = CopySign(Select(negative, Sub(K(kPi), angle), angle), y);
  return Select(b_.CreateFCmpUNO(x, y), K(kNaN), angle);
}

}  // namespace stoker::codegen
