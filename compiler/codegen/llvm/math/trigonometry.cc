#include "compiler/codegen/llvm/math/trigonometry.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/GlobalVariable.h>

#include <array>

namespace stoker::codegen {
namespace {

constexpr double kPi = 3.14159265358979323846;
// pi/2 in two parts.
constexpr double kHalfPi = 1.5707963267948966192;
constexpr double kHalfPiLow = 6.1232339957367658860e-17;

// Beyond this, the error of 2/pi times the argument is felt.
constexpr double kLargestPlain = 0x1p30;

// 64 zeros, then the first 1216 bits of the fraction of 2/pi: what the largest double needs.
constexpr std::array<std::uint64_t, 20> kTwoOverPi = {
    0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
    0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e,
    0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b,
    0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab};

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
  Value* r = Fma(n, K(-kHalfPi), x);
  r = Fma(n, K(-kHalfPiLow), r);
  r = Fma(n, K(1.4973849048591833e-33), r);
  return ReduceLarge(x, {r, Bits(shifted)});
}

// Lanes beyond Cody and Waite's reach are rare: one after the other.
Trigonometry::Reduced Trigonometry::ReduceLarge(Value* x, Reduced plain) {
  Value* magnitude = Abs(x);
  Value* large = b_.CreateAnd(b_.CreateFCmpOGT(magnitude, K(kLargestPlain)),
                              b_.CreateFCmpOLT(magnitude, K(kInfinity)));
  const int width = KernelEmitter::WidthOf(x);
  if (!emitter_.IndexesLanes()) {
    Values state = {plain.rest, plain.quadrant};
    for (int i = 0; i < width; ++i) {
      const auto lane = static_cast<std::uint64_t>(i);
      const auto at = [&](Value* of) {
        return width == 1 ? of : b_.CreateExtractElement(of, lane);
      };
      const auto with = [&](Value* of, Value* value) {
        return width == 1 ? value : b_.CreateInsertElement(of, value, lane);
      };
      emitter_.If(at(large), state, [&](Values& values) {
        Value* reduced = b_.CreateCall(ReductionByProduct(), {at(x)});
        values[0] = with(values[0], b_.CreateExtractValue(reduced, 0));
        values[1] = with(values[1], b_.CreateExtractValue(reduced, 1));
      });
    }
    return {state[0], state[1]};
  }
  Value* pending = b_.CreateZExt(
      b_.CreateBitCast(large, b_.getIntNTy(static_cast<unsigned>(width))), b_.getInt64Ty());
  Values state = {plain.rest, plain.quadrant, pending};
  emitter_.While(
      state, [&](const Values& values) { return b_.CreateIsNotNull(values[2]); },
      [&](Values& values) {
        Value* lane = b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, values[2], b_.getTrue());
        Value* one = width == 1 ? x : b_.CreateExtractElement(x, lane);
        Value* reduced = b_.CreateCall(ReductionByProduct(), {one});
        Value* rest = b_.CreateExtractValue(reduced, 0);
        Value* quadrant = b_.CreateExtractValue(reduced, 1);
        values[0] = width == 1 ? rest : b_.CreateInsertElement(values[0], rest, lane);
        values[1] = width == 1 ? quadrant : b_.CreateInsertElement(values[1], quadrant, lane);
        values[2] = b_.CreateAnd(values[2], b_.CreateSub(values[2], b_.getInt64(1)));
      });
  return {state[0], state[1]};
}

// Payne and Hanek's: with x = m 2^e, m an integer of 53 bits, those bits of 2^e 2/pi that make
// multiples of 4 are left out, and 192 of the others suffice: no double is closer to a multiple of
// pi/2 than 2^-62.
Trigonometry::Reduced Trigonometry::ReduceByProduct(Value* x) {
  llvm::Type* i64 = b_.getInt64Ty();
  llvm::Type* i128 = b_.getInt128Ty();
  const auto word = [&](std::uint64_t value) { return b_.getInt64(value); };
  const auto wide = [&](Value* value) { return b_.CreateZExt(value, i128); };
  const auto high_of = [&](Value* value) { return b_.CreateLShr(value, 64); };
  const auto narrow = [&](Value* value) { return b_.CreateTrunc(value, i64); };

  Value* bits = b_.CreateBitCast(x, i64);
  Value* field = b_.CreateAnd(b_.CreateLShr(bits, 52), word(0x7ff));
  Value* mantissa =
      b_.CreateOr(b_.CreateAnd(bits, word((std::uint64_t{1} << 52) - 1)), word(1ULL << 52));
  // The bit of weight 2 after scaling: e + 62 in the table, e = field - 1075.
  Value* place = b_.CreateSub(field, word(1075 - 62));
  Value* first = b_.CreateLShr(place, 6);
  Value* shift = b_.CreateAnd(place, word(63));
  std::array<Value*, 4> words;
  for (std::size_t i = 0; i < words.size(); ++i) {
    Value* at = b_.CreateGEP(i64, TwoOverPi(), b_.CreateAdd(first, word(i)));
    words[i] = b_.CreateLoad(i64, at);
  }
  const auto window = [&](std::size_t i) {
    return b_.CreateIntrinsic(llvm::Intrinsic::fshl, {i64}, {words[i], words[i + 1], shift});
  };
  Value* low = b_.CreateMul(wide(window(2)), wide(mantissa));
  Value* middle = b_.CreateAdd(b_.CreateMul(wide(window(1)), wide(mantissa)), high_of(low));
  Value* high = b_.CreateAdd(b_.CreateMul(window(0), mantissa), narrow(high_of(middle)));

  // Two bits of quadrant; the fraction behind them, signed, is what is left of a quarter turn.
  Value* quadrant = b_.CreateLShr(b_.CreateAdd(high, word(1ULL << 61)), 62);
  Value* fraction = b_.CreateOr(b_.CreateShl(wide(high), 64), wide(narrow(middle)));
  fraction = b_.CreateOr(b_.CreateShl(fraction, 2), wide(b_.CreateLShr(narrow(low), 62)));
  Value* negative = b_.CreateICmpSLT(fraction, llvm::ConstantInt::get(i128, 0));
  Value* magnitude = b_.CreateSelect(negative, b_.CreateNeg(fraction), fraction);
  Value* zeros = b_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, magnitude, b_.getTrue());
  // 63 bits of it, 53 and 10: each a double, and with them the product with pi/2.
  Value* top = narrow(b_.CreateLShr(b_.CreateShl(magnitude, zeros), 65));
  Value* head = b_.CreateSIToFP(b_.CreateAnd(top, word(~0x3ffULL)), b_.getDoubleTy());
  Value* tail = b_.CreateSIToFP(b_.CreateAnd(top, word(0x3ff)), b_.getDoubleTy());
  const auto real = [&](double value) { return llvm::ConstantFP::get(b_.getDoubleTy(), value); };
  Value* product = Mul(head, real(kHalfPi));
  Value* lost = Fma(head, real(kHalfPi), Neg(product));
  lost = Fma(head, real(kHalfPiLow), Fma(tail, real(kHalfPi), lost));
  Value* exponent = b_.CreateSub(word(1023 - 63), narrow(zeros));
  Value* scale = b_.CreateBitCast(b_.CreateShl(exponent, 52), b_.getDoubleTy());
  Value* rest = Mul(Add(product, lost), scale);
  rest = b_.CreateSelect(negative, Neg(rest), rest);
  // Of -x it is the negative.
  Value* below = b_.CreateICmpSLT(bits, word(0));
  return {b_.CreateSelect(below, Neg(rest), rest),
          b_.CreateSelect(below, b_.CreateNeg(quadrant), quadrant)};
}

// A function, so that a kernel has it once.
llvm::Function* Trigonometry::ReductionByProduct() {
  constexpr const char* kName = "reduce_by_product";
  llvm::Module& module = emitter_.module();
  if (llvm::Function* made = module.getFunction(kName)) return made;
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* result = llvm::StructType::get(b_.getDoubleTy(), b_.getInt64Ty());
  llvm::Function* function =
      llvm::Function::Create(llvm::FunctionType::get(result, {b_.getDoubleTy()}, false),
                             llvm::GlobalValue::InternalLinkage, kName, module);
  function->addFnAttrs(
      llvm::AttrBuilder(context, emitter_.function()->getAttributes().getFnAttrs()));
  function->addFnAttr(llvm::Attribute::NoInline);
  const llvm::IRBuilder<>::InsertPointGuard guard(b_);
  b_.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function));
  const auto [rest, quadrant] = ReduceByProduct(function->getArg(0));
  Value* reduced = b_.CreateInsertValue(llvm::PoisonValue::get(result), rest, 0);
  b_.CreateRet(b_.CreateInsertValue(reduced, quadrant, 1));
  return function;
}

Value* Trigonometry::TwoOverPi() {
  constexpr const char* kName = "two_over_pi";
  llvm::Module& module = emitter_.module();
  if (Value* table = module.getNamedGlobal(kName)) return table;
  llvm::Constant* words = llvm::ConstantDataArray::get(module.getContext(), kTwoOverPi);
  return new llvm::GlobalVariable(module, words->getType(), /*isConstant=*/true,
                                  llvm::GlobalValue::PrivateLinkage, words, kName);
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
