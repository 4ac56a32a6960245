#include "compiler/codegen/vector_math.h"

#include <llvm/IR/Intrinsics.h>

#include <limits>
#include <vector>

namespace stoker::codegen {
namespace {

using llvm::Value;
using Coefficients = std::initializer_list<double>;  // Of x^0, x^1, ...

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kLog2E = 1.4426950408889634074;
constexpr double kLog2ELow = 2.0355273740931033e-17;  // log2(e) - kLog2E.
constexpr double kLn2 = 0.69314718055994530942;
constexpr double kPi = 3.14159265358979323846;

// The polynomials are minimax fits (weighted for relative error of the function); the bound in the
// comment is the fit's, before rounding.

// (exp(r) - 1 - r) / r^2 on |r| <= ln(2)/2.
constexpr Coefficients kExp32Fast = {0.499992283096636588, 0.1666711583445561, 0.041890603289245347,
                                     0.0083125351652120111};  // 1.1e-7
constexpr Coefficients kExp32 = {0.499999934061498317, 0.16666520046238629, 0.0416683955023727356,
                                 0.00836878612529749495, 0.00138144045868098324};  // 3.1e-9
constexpr Coefficients kExp64 = {0.500000000000001073,     0.166666666666664102,
                                 0.0416666666665290901,    0.00833333333349559279,
                                 0.0013888888943946717,    0.000198412695049309819,
                                 0.0000248014927395789328, 2.75575871348364686e-6,
                                 2.76303863634039438e-7,   2.5000044390223516e-8};  // 3.7e-18
// (log(1 + f) - f + f^2/2) / f^3 on [sqrt(1/2), sqrt(2)] - 1.
constexpr Coefficients kLog32 = {
    0.333333124621838377,  -0.250000090375980325, 0.200021257812388564,
    -0.166680256083369603, 0.142194548280454233,  -0.124050878948634242,
    0.118883190807496851,  -0.116783509723232936, 0.0674943077500232309};  // 7.5e-10
// (log((1 + s) / (1 - s)) - 2 s) / s^3 over s^2.
constexpr Coefficients kLog64 = {0.666666666666673723, 0.399999999993940687, 0.285714287473729938,
                                 0.222221980229315498, 0.181835948190644101, 0.153132243963809334,
                                 0.148046546313590859};  // 1.3e-18
// tanh(x) / x = P / Q over x^2, |x| <= 9.02.
constexpr Coefficients kTanh32P = {0.999999979260953422, 0.133797769756658827,
                                   0.00349409928489695146, 0.0000205843356679484351,
                                   1.33198747281836854e-8};
constexpr Coefficients kTanh32Q = {1.0, 0.467130924028477554, 0.0258713333919699465,
                                   0.000328318949932783969, 7.76242783165567266e-7};  // 2.1e-8
// erf(x) / x = P / Q over x^2, |x| <= 3.93.
constexpr Coefficients kErf32P = {
    1.12837910827293208,     0.200737928081438601,    0.0506798563071614647, 0.00373361833904246128,
    0.000142398272725540278, -1.95462026020525418e-6, 1.98101729423530064e-8};
constexpr Coefficients kErf32Q = {1.0, 0.511230988534200679, 0.115333238134483622,
                                  0.014420789298208723, 0.00096307249579392352};  // 5.4e-8
// erf(x) / x over x^2, |x| <= 1.
constexpr Coefficients kErf64 = {
    1.12837916709551257,     -0.376126389031835195,     0.11283791670944183,
    -0.0268661706431112048,  0.00522397760611640481,    -0.000854832592921911382,
    0.000120552935741548585, -0.0000149247122511827391, 1.64471309662701376e-6,
    -1.62063092829605848e-7, 1.37109616750408064e-8,    -7.77943464487405706e-10};  // 7.3e-18
// exp(x^2) erfc(x) over t = (x - 2.5) / (x + 2.5), 1 <= x <= 6.
constexpr Coefficients kErfcx64 = {
    0.210806364061143608,     -0.371736733948971885,     0.251713193217445952,
    -0.12503305237907845,     0.0399225390753414912,     -0.00399370115289600178,
    -0.0026423659396241235,   0.00087591514503342354,    0.000228379670417491452,
    -0.000128873448431469692, -0.0000341726345388477757, 0.0000185902645281513657,
    7.48468362932753553e-6,   -2.22111521179240571e-6,   -1.55980508246857968e-6};  // 3.8e-19
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

// Emits math on values of one type: f32 or f64, scalar or vector.
class VectorMath {
 public:
  // `for_single`: f64 arithmetic whose result will be rounded to f32.
  VectorMath(KernelEmitter& emitter, llvm::Type* type, bool for_single = false)
      : emitter_(emitter),
        b_(emitter.b()),
        type_(type),
        single_(type->getScalarType()->isFloatTy()),
        for_single_(for_single),
        mantissa_bits_(single_ ? 23 : 52),
        bias_(single_ ? 127 : 1023),
        int_type_(IntegersOf(type)),
        // Adding it rounds to an integer, which then stands in the low bits.
        magic_(single_ ? 0x1.8p23 : 0x1.8p52),
        least_normal_(single_ ? 0x1p-126 : 0x1p-1022) {}

  Value* Emit(OpKind kind, llvm::ArrayRef<Value*> args);
  Value* ExpFast(Value* x);
  Value* Remainder(Value* x, Value* y);

 private:
  // A value and what was lost by rounding it.
  struct Double {
    Value* high;
    Value* low;
  };
  static llvm::Type* IntegersOf(llvm::Type* type) {
    llvm::Type* lane = llvm::Type::getIntNTy(type->getContext(), type->getScalarSizeInBits());
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
    return vector == nullptr ? lane : llvm::FixedVectorType::get(lane, vector->getNumElements());
  }

  struct Exponent {
    Value* exponent;  // Integral.
    Value* fraction;  // mantissa - 1, mantissa in [sqrt(1/2), sqrt(2)).
  };
  struct Reduced {
    Value* rest;      // |rest| <= pi/4
    Value* quadrant;  // Integer; its low two bits count quarter turns.
  };

  Value* K(double value) { return llvm::ConstantFP::get(type_, value); }
  Value* I(std::int64_t value) { return KernelEmitter::IntOf(int_type_, value); }
  Value* Add(Value* x, Value* y) { return b_.CreateFAdd(x, y); }
  Value* Sub(Value* x, Value* y) { return b_.CreateFSub(x, y); }
  Value* Mul(Value* x, Value* y) { return b_.CreateFMul(x, y); }
  Value* Div(Value* x, Value* y) { return b_.CreateFDiv(x, y); }
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
    return Select(b_.CreateFCmpOGT(x, K(limit)), K(limit), x);
  }
  Value* AtLeast(Value* x, double limit) {
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

  Value* Scale(Value* x, Value* n);
  Value* ExpOfReduced(Value* r);
  Value* Exp(Value* x);
  Value* Exp2(Value* x) { return Exp2Of(x, nullptr); }
  Value* Exp2Of(Value* x, Value* low);
  Value* Expm1(Value* x);
  Exponent Split(Value* x);
  Value* LogOfFraction(Value* f);
  Value* LogDomain(Value* x, Value* log);
  Value* Log(Value* x);
  Value* Log2(Value* x);
  Value* Log1p(Value* x);
  Value* Logistic(Value* x);
  Value* Tanh(Value* x);
  Value* Sinh(Value* x);
  Value* Cosh(Value* x);
  Value* Erf(Value* x);
  Reduced Reduce(Value* x);
  Value* SinOf(Value* r);
  Value* CosOf(Value* r);
  Value* SinCos(Value* x, bool cosine);
  Value* Tan(Value* x);
  Value* Atan(Value* x);
  Value* Atan2(Value* y, Value* x);
  Value* Power(Value* x, Value* y);
  Double Log2Double(Value* x);
  Value* ExponentField(Value* x);

  KernelEmitter& emitter_;
  llvm::IRBuilder<>& b_;
  llvm::Type* type_;
  bool single_;
  bool for_single_;
  std::int64_t mantissa_bits_;
  std::int64_t bias_;
  llvm::Type* int_type_;
  double magic_;
  double least_normal_;
};

// x * 2^n, correctly rounded, for integral |n| up to twice the exponent range.
Value* VectorMath::Scale(Value* x, Value* n) {
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

Value* VectorMath::ExpOfReduced(Value* r) {
  Value* q = Polynomial(r, single_ ? kExp32 : kExp64);
  return Add(Fma(Mul(r, r), q, r), K(1));
}

Value* VectorMath::Exp(Value* x) {
  x = AtLeast(AtMost(x, single_ ? 89 : 710), single_ ? -104 : -746);
  Value* n = Sub(Fma(x, K(kLog2E), K(magic_)), K(magic_));
  const double high = single_ ? static_cast<double>(static_cast<float>(kLn2)) : kLn2;
  const double low = single_ ? kLn2 - high : 2.3190468138462996e-17;
  Value* r = Fma(n, K(-low), Fma(n, K(-high), x));
  return Scale(ExpOfReduced(r), n);
}

Value* VectorMath::ExpFast(Value* x) {
  // Below this the result is subnormal.
  constexpr double kLowest = -87.33;
  Value* in_range = b_.CreateFCmpOGE(x, K(kLowest));
  Value* shifted = Fma(x, K(kLog2E), K(magic_));
  Value* n = Sub(shifted, K(magic_));
  const double high = static_cast<double>(static_cast<float>(kLn2));
  Value* r = Fma(n, K(high - kLn2), Fma(n, K(-high), x));
  Value* p = Add(Fma(Mul(r, r), Polynomial(r, kExp32Fast), r), K(1));
  Value* exponent = b_.CreateShl(Bits(shifted), I(mantissa_bits_));
  return Select(in_range, FromBits(b_.CreateAdd(Bits(p), exponent)), K(0));
}

// 2^(x + low); null: 0.
Value* VectorMath::Exp2Of(Value* x, Value* low) {
  x = AtLeast(AtMost(x, single_ ? 129 : 1025), single_ ? -151 : -1076);
  Value* n = Sub(Add(x, K(magic_)), K(magic_));
  Value* f = Sub(x, n);
  if (low != nullptr) f = Add(f, low);
  return Scale(ExpOfReduced(Mul(f, K(kLn2))), n);
}

// f64 only.
Value* VectorMath::Expm1(Value* x) {
  Value* limited = AtLeast(AtMost(x, 100), -100);
  Value* shifted = Fma(limited, K(kLog2E), K(magic_));
  Value* n = Sub(shifted, K(magic_));
  Value* r = Fma(n, K(-2.3190468138462996e-17), Fma(n, K(-kLn2), limited));
  Value* p = Fma(Mul(r, r), Polynomial(r, kExp64), r);
  Value* scale = PowerOfTwo(shifted);
  Value* near = Fma(p, scale, Sub(scale, K(1)));
  Value* result = Select(b_.CreateFCmpOGT(x, K(50)), Exp(x), near);
  return CopySign(result, x);  // Of a zero.
}

VectorMath::Exponent VectorMath::Split(Value* x) {
  Value* subnormal = b_.CreateFCmpOLT(x, K(least_normal_));
  const double scale = single_ ? 0x1p23 : 0x1p54;
  Value* normal = Select(subnormal, Mul(x, K(scale)), x);
  // The bits of sqrt(1/2), moved to where the exponent field counts.
  const std::int64_t root = single_ ? 0x3f3504f3 : 0x3fe6a09e667f3bcd;
  const std::int64_t one = bias_ << mantissa_bits_;
  Value* moved = b_.CreateAdd(Bits(normal), I(one - root));
  Value* field = b_.CreateLShr(moved, I(mantissa_bits_));
  // field as a number: placed in the low bits of 2^mantissa_bits.
  const double base = single_ ? 0x1p23 : 0x1p52;
  Value* number = FromBits(b_.CreateOr(field, I((bias_ + mantissa_bits_) << mantissa_bits_)));
  Value* offset = Select(subnormal, K(base + static_cast<double>(bias_) + (single_ ? 23 : 54)),
                         K(base + static_cast<double>(bias_)));
  const std::int64_t mask = (std::int64_t{1} << mantissa_bits_) - 1;
  Value* mantissa = FromBits(b_.CreateAdd(b_.CreateAnd(moved, I(mask)), I(root)));
  return {Sub(number, offset), Sub(mantissa, K(1))};
}

// log(1 + f) for the fraction of Split.
Value* VectorMath::LogOfFraction(Value* f) {
  Value* half_square = Mul(Mul(f, f), K(0.5));
  if (single_) {
    Value* cubic = Mul(Mul(Mul(f, f), f), Polynomial(f, kLog32));
    return Add(f, Sub(cubic, half_square));
  }
  Value* s = Div(f, Add(f, K(2)));
  Value* z = Mul(s, s);
  Value* r = Mul(z, Polynomial(z, kLog64));
  return Sub(f, Sub(half_square, Mul(s, Add(half_square, r))));
}

// The logarithm of what has none, or an infinite one.
Value* VectorMath::LogDomain(Value* x, Value* log) {
  log = Select(b_.CreateFCmpOEQ(x, K(kInfinity)), x, log);
  log = Select(b_.CreateFCmpOEQ(x, K(0)), K(-kInfinity), log);
  return Select(b_.CreateFCmpUGE(x, K(0)), Select(b_.CreateFCmpUNO(x, x), x, log), K(kNaN));
}

Value* VectorMath::Log(Value* x) {
  const auto [exponent, f] = Split(x);
  // exponent * high is exact.
  const double high = single_ ? 0.693359375 : 0x1.62e42fee00000p-1;
  Value* half_square = Mul(Mul(f, f), K(0.5));
  Value* rest = nullptr;
  if (single_) {
    rest = Sub(Mul(Mul(Mul(f, f), f), Polynomial(f, kLog32)), half_square);
  } else {
    Value* s = Div(f, Add(f, K(2)));
    Value* z = Mul(s, s);
    Value* r = Mul(z, Polynomial(z, kLog64));
    rest = Sub(Mul(s, Add(half_square, r)), half_square);
  }
  const double low = single_ ? kLn2 - high : 1.90821492927058770002e-10;
  rest = Fma(exponent, K(low), rest);
  return LogDomain(x, Fma(exponent, K(high), Add(f, rest)));
}

Value* VectorMath::Log2(Value* x) {
  const auto [exponent, f] = Split(x);
  return LogDomain(x, Fma(LogOfFraction(f), K(kLog2E), exponent));
}

// log(1 + x) = log(u) * x / (u - 1) with u = 1 + x as rounded: the errors of both quotients cancel
// (Kahan). f64 only.
Value* VectorMath::Log1p(Value* x) {
  Value* u = Add(x, K(1));
  Value* result = Mul(Log(u), Div(x, Sub(u, K(1))));
  result = Select(b_.CreateFCmpOEQ(u, K(1)), x, result);
  return Select(b_.CreateFCmpOEQ(x, K(kInfinity)), x, result);
}

Value* VectorMath::Logistic(Value* x) {
  Value* e = Exp(Neg(Abs(x)));
  Value* numerator = Select(b_.CreateFCmpOGE(x, K(0)), K(1), e);
  return Div(numerator, Add(e, K(1)));
}

Value* VectorMath::Tanh(Value* x) {
  if (single_) {
    x = AtLeast(AtMost(x, 9.02), -9.02);
    Value* z = Mul(x, x);
    Value* result = Div(Mul(x, Polynomial(z, kTanh32P)), Polynomial(z, kTanh32Q));
    return AtLeast(AtMost(result, 1), -1);
  }
  Value* t = Expm1(Mul(Abs(x), K(-2)));
  return CopySign(Div(Neg(t), Add(t, K(2))), x);
}

// f64 only, as all below but Erf.
Value* VectorMath::Sinh(Value* x) {
  Value* magnitude = Abs(x);
  Value* t = Expm1(magnitude);
  Value* near = Mul(Add(t, Div(t, Add(t, K(1)))), K(0.5));
  Value* root = Exp(Mul(magnitude, K(0.5)));
  Value* far = Mul(Mul(root, K(0.5)), root);
  return CopySign(Select(b_.CreateFCmpOGT(magnitude, K(40)), far, near), x);
}

Value* VectorMath::Cosh(Value* x) {
  Value* root = Exp(Mul(Abs(x), K(0.5)));
  Value* e = Mul(root, root);
  Value* near = Mul(Add(e, Div(K(1), e)), K(0.5));
  Value* far = Mul(Mul(root, K(0.5)), root);
  return Select(b_.CreateFCmpOGT(Abs(x), K(40)), far, near);
}

Value* VectorMath::Erf(Value* x) {
  if (single_) {
    x = AtLeast(AtMost(x, 3.93), -3.93);
    Value* z = Mul(x, x);
    Value* result = Div(Mul(x, Polynomial(z, kErf32P)), Polynomial(z, kErf32Q));
    return AtLeast(AtMost(result, 1), -1);
  }
  Value* near = Mul(x, Polynomial(Mul(x, x), kErf64));
  Value* magnitude = AtMost(Abs(x), 6);
  Value* t = Div(Sub(magnitude, K(2.5)), Add(magnitude, K(2.5)));
  Value* square = Mul(magnitude, magnitude);
  Value* complement = Mul(Exp(Neg(square)), Polynomial(t, kErfcx64));
  Value* far = CopySign(Sub(K(1), complement), x);
  return Select(b_.CreateFCmpOLE(Abs(x), K(1)), near, Select(b_.CreateFCmpUNO(x, x), x, far));
}

// Cody and Waite's reduction in three parts; fused products are exact.
VectorMath::Reduced VectorMath::Reduce(Value* x) {
  Value* shifted = Fma(x, K(2 / kPi), K(magic_));
  Value* n = Sub(shifted, K(magic_));
  Value* r = Fma(n, K(-1.5707963267948966192), x);
  r = Fma(n, K(-6.1232339957367658860e-17), r);
  r = Fma(n, K(1.4973849048591833e-33), r);
  return {r, Bits(shifted)};
}

Value* VectorMath::SinOf(Value* r) {
  Value* z = Mul(r, r);
  return Fma(Mul(z, r), Polynomial(z, for_single_ ? kSin32 : kSin64), r);
}

Value* VectorMath::CosOf(Value* r) {
  Value* z = Mul(r, r);
  return Fma(Mul(z, z), Polynomial(z, for_single_ ? kCos32 : kCos64), Fma(z, K(-0.5), K(1)));
}

Value* VectorMath::SinCos(Value* x, bool cosine) {
  const auto [r, quadrant] = Reduce(x);
  Value* turned = cosine ? b_.CreateAdd(quadrant, I(1)) : quadrant;
  Value* odd = b_.CreateICmpNE(b_.CreateAnd(turned, I(1)), I(0));
  Value* value = Select(odd, CosOf(r), SinOf(r));
  // The second bit of the quadrant is the sign.
  Value* sign = b_.CreateShl(b_.CreateAnd(turned, I(2)), I(62));
  Value* result = FromBits(b_.CreateXor(Bits(value), sign));
  return cosine ? result : Select(b_.CreateFCmpOEQ(x, K(0)), x, result);  // Keeps -0.
}

Value* VectorMath::Tan(Value* x) {
  const auto [r, quadrant] = Reduce(x);
  Value* sine = SinOf(r);
  Value* cosine = CosOf(r);
  Value* odd = b_.CreateICmpNE(b_.CreateAnd(quadrant, I(1)), I(0));
  Value* result = Div(Select(odd, Neg(cosine), sine), Select(odd, sine, cosine));
  return Select(b_.CreateFCmpOEQ(x, K(0)), x, result);  // Keeps -0.
}

Value* VectorMath::Atan(Value* x) {
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

Value* VectorMath::Atan2(Value* y, Value* x) {
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

// log2 of a positive number to about 2^-60 of its fraction.
VectorMath::Double VectorMath::Log2Double(Value* x) {
  const auto [exponent, f] = Split(x);
  // log(1 + f) = 2 s + s R(s^2), s = f / (2 + f) as a sum of two.
  Value* d = Add(f, K(2));
  Value* d_low = Sub(f, Sub(d, K(2)));
  Value* s = Div(f, d);
  Value* s_low = Div(Fma(Neg(s), d_low, Fma(Neg(s), d, f)), d);
  Value* z = Mul(s, s);
  Value* tail = Fma(Mul(s, z), Polynomial(z, kLog64), Mul(s_low, K(2)));
  Value* twice = Mul(s, K(2));
  Value* high = Add(twice, tail);
  Value* low = Sub(tail, Sub(high, twice));
  // To base 2, plus the exponent.
  Value* product = Mul(high, K(kLog2E));
  Value* product_low = Fma(high, K(kLog2E), Neg(product));
  product_low = Add(product_low, Fma(high, K(kLog2ELow), Mul(low, K(kLog2E))));
  Value* sum = Add(exponent, product);
  Value* sum_low = Add(Sub(product, Sub(sum, exponent)), product_low);
  sum = Select(b_.CreateFCmpOEQ(x, K(0)), K(-kInfinity), sum);
  sum = Select(b_.CreateFCmpOEQ(x, K(kInfinity)), K(kInfinity), sum);
  return {Select(b_.CreateFCmpUNO(x, x), x, sum), sum_low};
}

Value* VectorMath::Power(Value* x, Value* y) {
  Value* magnitude = Abs(x);
  const auto [log, log_low] = Log2Double(magnitude);
  Value* product = Mul(y, log);
  Value* product_low = Fma(y, log_low, Fma(y, log, Neg(product)));
  Value* ordinary = b_.CreateFCmpOLT(Abs(product), K(1100));
  Value* result = Exp2Of(product, Select(ordinary, product_low, K(0)));

  Value* whole = b_.CreateFCmpOEQ(Trunc(y), y);
  Value* half = Mul(y, K(0.5));
  Value* odd = b_.CreateAnd(whole, b_.CreateFCmpONE(Trunc(half), half));
  Value* negative = b_.CreateICmpSLT(Bits(x), I(0));
  result = Select(b_.CreateAnd(negative, odd), Neg(result), result);
  Value* below_zero = b_.CreateAnd(b_.CreateFCmpOLT(x, K(0)), b_.CreateFCmpONE(x, K(-kInfinity)));
  result = Select(b_.CreateAnd(below_zero, b_.CreateNot(whole)), K(kNaN), result);
  Value* endless = b_.CreateFCmpOEQ(Abs(y), K(kInfinity));
  Value* one = b_.CreateAnd(b_.CreateFCmpOEQ(magnitude, K(1)), endless);
  one = b_.CreateOr(one, b_.CreateFCmpOEQ(y, K(0)));
  one = b_.CreateOr(one, b_.CreateFCmpOEQ(x, K(1)));
  return Select(one, K(1), result);
}

// The exponent of a positive number, as an integer; subnormals have theirs.
Value* VectorMath::ExponentField(Value* x) {
  Value* subnormal = b_.CreateFCmpOLT(x, K(least_normal_));
  Value* normal = Select(subnormal, Mul(x, K(single_ ? 0x1p23 : 0x1p54)), x);
  Value* field = b_.CreateLShr(Bits(normal), I(mantissa_bits_));
  return b_.CreateSub(field, Select(subnormal, I(single_ ? 23 : 54), I(0)));
}

// Long division: each step takes off a multiple of |y| * 2^k whose quotient is a small integer, so
// that nothing is rounded.
Value* VectorMath::Remainder(Value* x, Value* y) {
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

Value* VectorMath::Emit(OpKind kind, llvm::ArrayRef<Value*> args) {
  Value* x = args[0];
  if (kind == OpKind::kExponential) return Exp(x);
  if (kind == OpKind::kExponential2) return Exp2(x);
  if (kind == OpKind::kLog) return Log(x);
  if (kind == OpKind::kLog2) return Log2(x);
  if (kind == OpKind::kLogistic) return Logistic(x);
  if (kind == OpKind::kTanh) return Tanh(x);
  if (kind == OpKind::kErf) return Erf(x);
  if (single_) {
    // The rest is rare: f64 arithmetic, rounded once.
    llvm::Type* wide = KernelEmitter::VectorOf(b_.getDoubleTy(), KernelEmitter::WidthOf(x));
    Values wide_args;
    for (Value* arg : args) wide_args.push_back(b_.CreateFPExt(arg, wide));
    return b_.CreateFPTrunc(VectorMath(emitter_, wide, true).Emit(kind, wide_args), type_);
  }
  if (kind == OpKind::kExponentialMinusOne) return Expm1(x);
  if (kind == OpKind::kLogPlusOne) return Log1p(x);
  if (kind == OpKind::kSine) return SinCos(x, false);
  if (kind == OpKind::kCosine) return SinCos(x, true);
  if (kind == OpKind::kTan) return Tan(x);
  if (kind == OpKind::kAtan) return Atan(x);
  if (kind == OpKind::kAsin) {
    Value* cosine = Sqrt(Mul(Sub(K(1), x), Add(K(1), x)));
    return CopySign(Atan(Div(x, cosine)), x);
  }
  if (kind == OpKind::kAcos) return Mul(Atan(Sqrt(Div(Sub(K(1), x), Add(K(1), x)))), K(2));
  if (kind == OpKind::kSinh) return Sinh(x);
  if (kind == OpKind::kCosh) return Cosh(x);
  if (kind == OpKind::kAtan2) return Atan2(x, args[1]);
  STOKER_CHECK(kind == OpKind::kPower);
  return Power(x, args[1]);
}

}  // namespace

Value* EmitTranscendental(KernelEmitter& emitter, OpKind kind, llvm::ArrayRef<Value*> args) {
  return VectorMath(emitter, args[0]->getType()).Emit(kind, args);
}

Value* EmitExpNonPositive(KernelEmitter& emitter, Value* x) {
  return VectorMath(emitter, x->getType()).ExpFast(x);
}

Value* EmitFloatRemainder(KernelEmitter& emitter, Value* x, Value* y) {
  return VectorMath(emitter, x->getType()).Remainder(x, y);
}

}  // namespace stoker::codegen
