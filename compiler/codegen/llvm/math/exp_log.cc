#include "compiler/codegen/llvm/math/exp_log.h"

#include <cmath>

namespace stoker::codegen {
namespace {

constexpr double kLog2E = 1.4426950408889634074;
constexpr double kLog2ELow = 2.0355273740931033e-17;  // log2(e) - kLog2E.
constexpr double kLn2 = 0.69314718055994530942;

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
// The same without its first coefficient, 2/3, for a logarithm that is multiplied by up to 1000.
constexpr double kTwoThirds = 2.0 / 3;
constexpr double kTwoThirdsLow = 3.7007434154171886e-17;
constexpr Coefficients kLogTail64 = {0.3999999999999999,  0.28571428571435364, 0.22222222219857288,
                                     0.181818185938676,   0.1538457511576662,  0.1333563938635947,
                                     0.11688107586595922, 0.1188214271262732};  // 1e-20
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
// log2 of the normal distribution's tail, (log2(erfc(x / sqrt(2)) / 2) + 1) / x, 0 <= x <= 6.4: the
// tail is off by 4e-6 of itself. Beyond, the polynomial falls without an end.
constexpr Coefficients kTailLog32 = {
    -1.1512129801927273,    -0.4585451369747028,   -0.053887787486234136, 0.008475568790557867,
    -0.0009229334217784698, 6.070364903407183e-05, -1.793132003417395e-06};
// The same over x / sqrt(2): log2(erfc(x)) / x.
constexpr Coefficients kErfcLog32 = {
    -1.6280610097685044,   -0.9170902739494058,   -0.15241767981862298,   0.033902275162231474,
    -0.005220899848986082, 0.0004856291922725749, -2.0286972786864962e-05};
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
// erf(x) / x over x^2, |x| <= 1/2.
constexpr Coefficients kErfNear32 = {1.1283791655675424, -0.37612608574230283, 0.11282822824487847,
                                     -0.026757184654804325, 0.004717990067210741};  // 1.4e-9
constexpr Coefficients kErfNear64 = {
    1.1283791670955126,     -0.37612638903183465,    0.11283791670924816,
    -0.026866170632716322,  0.005223977370332408,    -0.0008548297524748163,
    0.00012053324323886661, -1.4845583855143466e-05, 1.4723215353508247e-06};  // 3.9e-18
// exp(x^2) erfc(x) (x + c) over t = (x - c) / (x + c), for c = 3 and x up to 10.2.
constexpr Coefficients kErfc32 = {
    1.0740069077678664,     -0.8833944864565285,    0.5902282985036238,    -0.3104660083052016,
    0.11952906848397744,    -0.02683982727911487,   -0.001226431614719417, 0.0030803292621002635,
    -0.0004831749149650231, -0.00032533267250607444};  // 2.1e-9
// The same for c = 3.5 and x up to 27.4.
constexpr Coefficients kErfc64 = {
    1.08705558926226,       -0.9377997245671119,     0.6941136466346453,
    -0.43525602671689945,   0.22573862164736838,     -0.09231870663818034,
    0.026518619882540867,   -0.0031770503466461847,  -0.0013053547011654958,
    0.0007145317138336492,  -4.206210630981514e-05,  -7.477720466102597e-05,
    1.8646964097377958e-05, 7.244429166450131e-06,   -3.3914779954319453e-06,
    -7.9668882990317e-07,   5.497198761655873e-07,   1.1622262275018492e-07,
    -8.284998329631585e-08, -2.1611103662520436e-08, 8.812776737292056e-09,
    3.1959203751562478e-09};  // 7e-18

}  // namespace

Value* ExpLog::ExpOfReduced(Value* r) {
  Value* q = Polynomial(r, single_ ? kExp32 : kExp64);
  return Add(Fma(Mul(r, r), q, r), K(1));
}

Value* ExpLog::Exp(Value* x) {
  if (emitter_.HasExp2(type_)) return ExpByExp2(x);
  x = AtLeast(AtMost(x, single_ ? 89 : 710), single_ ? -104 : -746);
  Value* n = Sub(Fma(x, K(kLog2E), K(magic_)), K(magic_));
  return Scale(ExpOfReduced(ReducedBy(n, x)), n);
}

// exp(x) = 2^r 2^n with r = x log2(e) - n: n is normal, and r goes beyond half where x does beyond
// that, so that one product rounds and overflows as it should.
Value* ExpLog::ExpByExp2(Value* x) {
  // What the product loses, |x| half units in the last place, no such rounding shows. A subnormal
  // number may be a factor of what is a normal one of bf16: the square of a normal one.
  if (emitter_.hides_errors()) {
    Value* root = emitter_.Exp2InHardware(Mul(x, K(kLog2E / 2)));
    return Mul(root, root);
  }
  constexpr double kMost = 87;
  Value* shifted = Fma(AtLeast(AtMost(x, kMost), -kMost), K(kLog2E), K(magic_));
  Value* n = Sub(shifted, K(magic_));
  const double high = static_cast<double>(static_cast<float>(kLog2E));
  Value* r = Fma(x, K(kLog2E - high), Fma(x, K(high), Neg(n)));
  return Mul(emitter_.Exp2InHardware(r), PowerOfTwo(shifted));
}

// `most` times the scale is rounded, which is off by 1/2 at most: all are off by 2^(1/2) together.
// Where it is too large for that, 16-bit floats that differ do so by hundreds, and with less of a
// scale, too.
Value* ExpLog::ExpBelow(Value* x, Value* most, double scale, bool is_16_bit) {
  const auto splat = [&](Value* v) {
    return KernelEmitter::WidthOf(v) > 1 ? v : emitter_.Splat(v, KernelEmitter::WidthOf(x));
  };
  if (!is_16_bit) return emitter_.Exp2InHardware(Mul(Sub(x, splat(most)), K(kLog2E * scale)));
  const auto number = [&](double v) { return llvm::ConstantFP::get(most->getType(), v); };
  Value* product = Mul(most, number(kLog2E * scale));
  Value* fits = b_.CreateFCmpOLT(Abs(product), number(0x1p23));
  Value* exact = number(std::exp2(std::floor(std::log2(scale))));
  Value* factor = Select(fits, number(kLog2E * scale), exact);
  Value* shift = Neg(Select(fits, product, Mul(most, exact)));
  return emitter_.Exp2InHardware(Fma(x, splat(factor), splat(shift)));
}

// x - n ln(2)
Value* ExpLog::ReducedBy(Value* n, Value* x) {
  const double high = single_ ? static_cast<double>(static_cast<float>(kLn2)) : kLn2;
  const double low = single_ ? kLn2 - high : 2.3190468138462996e-17;
  return Fma(n, K(-low), Fma(n, K(-high), x));
}

Value* ExpLog::ExpFast(Value* x) {
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
Value* ExpLog::Exp2Of(Value* x, Value* low) {
  x = AtLeast(AtMost(x, single_ ? 129 : 1025), single_ ? -151 : -1076);
  Value* n = Sub(Add(x, K(magic_)), K(magic_));
  Value* f = Sub(x, n);
  if (low != nullptr) f = Add(f, low);
  return Scale(ExpOfReduced(Mul(f, K(kLn2))), n);
}

Value* ExpLog::Expm1(Value* x) {
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

ExpLog::Exponent ExpLog::Split(Value* x) {
  const double base = single_ ? 0x1p23 : 0x1p52;
  Value* normal = x;
  Value* offset = K(base + static_cast<double>(bias_));
  if (!for_single_) {  // What comes of floats is no subnormal double.
    Value* subnormal = b_.CreateFCmpOLT(x, K(least_normal_));
    normal = Select(subnormal, Mul(x, K(single_ ? 0x1p23 : 0x1p54)), x);
    offset = Select(subnormal, K(base + static_cast<double>(bias_) + (single_ ? 23 : 54)), offset);
  }
  // The bits of sqrt(1/2), moved to where the exponent field counts.
  const std::int64_t root = single_ ? 0x3f3504f3 : 0x3fe6a09e667f3bcd;
  const std::int64_t one = bias_ << mantissa_bits_;
  Value* moved = b_.CreateAdd(Bits(normal), I(one - root));
  Value* field = b_.CreateLShr(moved, I(mantissa_bits_));
  // field as a number: placed in the low bits of 2^mantissa_bits.
  Value* number = FromBits(b_.CreateOr(field, I((bias_ + mantissa_bits_) << mantissa_bits_)));
  const std::int64_t mask = (std::int64_t{1} << mantissa_bits_) - 1;
  Value* mantissa = FromBits(b_.CreateAdd(b_.CreateAnd(moved, I(mask)), I(root)));
  return {Sub(number, offset), Sub(mantissa, K(1))};
}

// log(1 + f) for the fraction of Split.
Value* ExpLog::LogOfFraction(Value* f) {
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
Value* ExpLog::LogDomain(Value* x, Value* log) {
  log = Select(b_.CreateFCmpOEQ(x, K(kInfinity)), x, log);
  log = Select(b_.CreateFCmpOEQ(x, K(0)), K(-kInfinity), log);
  return Select(b_.CreateFCmpUGE(x, K(0)), Select(b_.CreateFCmpUNO(x, x), x, log), K(kNaN));
}

Value* ExpLog::Log(Value* x) {
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

Value* ExpLog::Log2(Value* x) {
  const auto [exponent, f] = Split(x);
  return LogDomain(x, Fma(LogOfFraction(f), K(kLog2E), exponent));
}

// log(1 + x) = log(u) * x / (u - 1) with u = 1 + x as rounded: the errors of both quotients cancel
// (Kahan).
Value* ExpLog::Log1p(Value* x) {
  Value* u = Add(x, K(1));
  Value* result = Mul(Log(u), Div(x, Sub(u, K(1))));
  result = Select(b_.CreateFCmpOEQ(u, K(1)), x, result);
  return Select(b_.CreateFCmpOEQ(x, K(kInfinity)), x, result);
}

// Of the larger, and how far it is from the smaller.
Value* ExpLog::LogAddExp(Value* x, Value* y) {
  Value* distance = Neg(Abs(Sub(x, y)));
  distance = Select(b_.CreateFCmpOEQ(x, y), K(0), distance);  // Equal infinities have none.
  Value* larger = Select(b_.CreateFCmpOGT(x, y), x, y);
  return Add(larger, Log1p(Exp(distance)));
}

Value* ExpLog::Logistic(Value* x) {
  Value* e = Exp(Neg(Abs(x)));
  Value* numerator = Select(b_.CreateFCmpOGE(x, K(0)), K(1), e);
  return Ratio(numerator, Add(e, K(1)));
}

Value* ExpLog::Tanh(Value* x) {
  if (single_) {
    x = AtLeast(AtMost(x, 9.02), -9.02);
    Value* z = Mul(x, x);
    Value* result = Ratio(Mul(x, Polynomial(z, kTanh32P)), Polynomial(z, kTanh32Q));
    return AtLeast(AtMost(result, 1), -1);
  }
  Value* t = Expm1(Mul(Abs(x), K(-2)));
  return CopySign(Div(Neg(t), Add(t, K(2))), x);
}

Value* ExpLog::Sinh(Value* x) {
  Value* magnitude = Abs(x);
  Value* t = Expm1(magnitude);
  Value* near = Mul(Add(t, Div(t, Add(t, K(1)))), K(0.5));
  Value* root = Exp(Mul(magnitude, K(0.5)));
  Value* far = Mul(Mul(root, K(0.5)), root);
  return CopySign(Select(b_.CreateFCmpOGT(magnitude, K(40)), far, near), x);
}

Value* ExpLog::Cosh(Value* x) {
  Value* root = Exp(Mul(Abs(x), K(0.5)));
  Value* e = Mul(root, root);
  Value* near = Mul(Add(e, Div(K(1), e)), K(0.5));
  Value* far = Mul(Mul(root, K(0.5)), root);
  return Select(b_.CreateFCmpOGT(Abs(x), K(40)), far, near);
}

Value* ExpLog::Erf(Value* x) {
  if (single_) {
    x = AtLeast(AtMost(x, 3.93), -3.93);
    Value* z = Mul(x, x);
    Value* result = Ratio(Mul(x, Polynomial(z, kErf32P)), Polynomial(z, kErf32Q));
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

Value* ExpLog::OnePlusErf(Value* x) {
  Value* magnitude = Abs(x);
  Value* complement = emitter_.Exp2InHardware(Mul(magnitude, Polynomial(magnitude, kErfcLog32)));
  return Select(b_.CreateFCmpOGE(x, K(0)), Sub(K(2), complement), complement);
}

// max(x, 0) - |x| tail(|x|). What is larger than kMost has no tail, and infinity no product with
// it.
Value* ExpLog::Gelu(Value* x) {
  constexpr double kMost = 16;
  Value* limited = AtMost(x, kMost);
  Value* magnitude = Abs(limited);
  Value* log = Fma(magnitude, Polynomial(magnitude, kTailLog32), K(-1));
  // -0 for what is below: so is its result where it vanishes.
  return Fma(Neg(magnitude), emitter_.Exp2InHardware(log), AtLeast(x, -0.0));
}

Value* ExpLog::Erfc(Value* x) {
  Value* magnitude = AtMost(Abs(x), single_ ? 10.2 : 27.4);  // Beyond it is 0, or 2.
  const double center = single_ ? 3 : 3.5;
  Value* over = Ratio(K(1), Add(magnitude, K(center)));
  Value* t = Mul(Sub(magnitude, K(center)), over);
  Value* scaled = Mul(Polynomial(t, single_ ? kErfc32 : kErfc64), over);
  // exp(-x^2): what x^2 loses by rounding counts as much as x^2 is large.
  Value* square = Mul(magnitude, magnitude);
  Value* lost = Fma(magnitude, magnitude, Neg(square));
  Value* n = Sub(Fma(square, K(-kLog2E), K(magic_)), K(magic_));
  Value* r = Sub(ReducedBy(n, Neg(square)), lost);
  Value* tail = Scale(Mul(ExpOfReduced(r), scaled), n);
  Value* far = Select(b_.CreateFCmpOLT(x, K(0)), Sub(K(2), tail), tail);
  Value* near = Fma(Neg(x), Polynomial(square, single_ ? kErfNear32 : kErfNear64), K(1));
  return Select(b_.CreateFCmpOLT(magnitude, K(0.5)), near, far);
}

// log2 of a positive number to about 2^-66 of its fraction.
ExpLog::Double ExpLog::Log2Double(Value* x) {
  const auto [exponent, f] = Split(x);
  // log(1 + f) = 2 s + 2/3 s^3 + s^5 R(s^2), s = f / (2 + f); all but the last as sums of two.
  Value* d = Add(f, K(2));
  Value* d_low = Sub(f, Sub(d, K(2)));
  Value* s = Div(f, d);
  Value* s_low = Div(Fma(Neg(s), d_low, Fma(Neg(s), d, f)), d);
  Value* z = Mul(s, s);
  Value* z_low = Fma(Mul(s, K(2)), s_low, Fma(s, s, Neg(z)));
  Value* cube = Mul(s, z);
  Value* cube_low = Fma(s_low, z, Fma(s, z_low, Fma(s, z, Neg(cube))));
  Value* third = Mul(cube, K(kTwoThirds));
  Value* third_low = Fma(cube, K(kTwoThirds), Neg(third));
  third_low = Fma(cube_low, K(kTwoThirds), Fma(cube, K(kTwoThirdsLow), third_low));
  Value* rest = Mul(Mul(cube, z), Polynomial(z, kLogTail64));
  Value* tail_low = Add(third_low, Fma(s_low, K(2), rest));
  Value* twice = Mul(s, K(2));
  Value* high = Add(twice, third);
  Value* low = Add(Sub(third, Sub(high, twice)), tail_low);
  // To base 2, plus the exponent.
  Value* product = Mul(high, K(kLog2E));
  Value* product_low = Fma(high, K(kLog2E), Neg(product));
  product_low = Add(product_low, Fma(high, K(kLog2ELow), Mul(low, K(kLog2E))));
  Value* sum = Add(exponent, product);
  Value* sum_low = Add(Sub(product, Sub(sum, exponent)), product_low);
  // What is low holds the logarithm's tail: 10^-4 of it, which times an exponent would be no
  // fraction.
  Value* total = Add(sum, sum_low);
  sum_low = Add(Sub(sum, total), sum_low);
  sum = total;
  sum = Select(b_.CreateFCmpOEQ(x, K(0)), K(-kInfinity), sum);
  sum = Select(b_.CreateFCmpOEQ(x, K(kInfinity)), K(kInfinity), sum);
  return {Select(b_.CreateFCmpUNO(x, x), x, sum), sum_low};
}

Value* ExpLog::Power(Value* x, Value* y) {
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

}  // namespace stoker::codegen
