#include "compiler/codegen/digits.h"

namespace stoker::codegen {
namespace {

constexpr int kLanes = 16;
constexpr std::int64_t kInfinityBits = 0x7f800000;
constexpr int kMantissaBits = 23;
// The largest element has its highest bit at 2^22, and is below 127.5 * 65536 after rounding: one
// whose mantissa is so near to 2 counts as the next power of two.
constexpr std::int64_t kNearTwo = 0x20000;
constexpr std::int64_t kLargestShift = 127 + 22;
// Makes the lower digits unsigned, and bytes of them signed again.
constexpr std::int64_t kBias = 0x8080;
// d[0] = -128, and d[1] = 0, 1, 2.
constexpr std::int64_t kNaN = -128 * 65536;
constexpr std::int64_t kInfinity = kNaN + 256;
constexpr std::int64_t kNegativeInfinity = kNaN + 512;

llvm::Type* IntLanes(llvm::Value* x) {
  llvm::Type* i32 = llvm::Type::getInt32Ty(x->getContext());
  return KernelEmitter::WidthOf(x) == 1 ? i32
                                        : KernelEmitter::VectorOf(i32, KernelEmitter::WidthOf(x));
}
llvm::Type* FloatLanes(llvm::Value* x) {
  llvm::Type* f32 = llvm::Type::getFloatTy(x->getContext());
  return KernelEmitter::WidthOf(x) == 1 ? f32
                                        : KernelEmitter::VectorOf(f32, KernelEmitter::WidthOf(x));
}

llvm::Value* ToBytes(KernelEmitter& e, llvm::Value* integers) {
  llvm::Constant* bias = KernelEmitter::IntOf(integers->getType(), kBias);
  return e.b().CreateXor(e.b().CreateAdd(integers, bias), bias);
}

// x * 2^exponent without an overflow on the way; `exponent` is an integer or NaN.
llvm::Value* Scale(KernelEmitter& e, llvm::Value* x, llvm::Value* exponent) {
  llvm::IRBuilder<>& b = e.b();
  return e.CallIntrinsic("llvm.x86.avx512.mask.scalef.ps.512",
                         {x, exponent, x, b.getInt16(0xffff), b.getInt32(4)});
}

// -1 or 1, of the sign bit.
llvm::Value* SignOf(KernelEmitter& e, llvm::Value* x) {
  llvm::Type* type = IntLanes(x);
  llvm::Value* sign =
      e.b().CreateAShr(e.b().CreateBitCast(x, type), KernelEmitter::IntOf(type, 31));
  return e.b().CreateOr(sign, KernelEmitter::IntOf(type, 1));
}

}  // namespace

llvm::Value* MagnitudeBits(KernelEmitter& e, llvm::Value* x) {
  llvm::Type* type = IntLanes(x);
  return e.b().CreateAnd(e.b().CreateBitCast(x, type), KernelEmitter::IntOf(type, 0x7fffffff));
}

DigitScale DigitScaleOf(KernelEmitter& e, llvm::Value* largest_bits) {
  llvm::IRBuilder<>& b = e.b();
  llvm::Type* type = largest_bits->getType();
  llvm::Type* floats = FloatLanes(largest_bits);
  const auto integer = [&](std::int64_t value) { return KernelEmitter::IntOf(type, value); };
  DigitScale scale;
  scale.special = b.CreateICmpSGE(largest_bits, integer(kInfinityBits));
  llvm::Value* power =
      b.CreateLShr(b.CreateAdd(largest_bits, integer(kNearTwo)), integer(kMantissaBits));
  llvm::Value* shift = b.CreateSub(integer(kLargestShift), power);
  scale.shift = b.CreateSIToFP(shift, floats);
  // Both factors give half of the weight of sums[2]'s unit, 2^16.
  scale.exponent = b.CreateSelect(scale.special, llvm::ConstantFP::getNaN(floats),
                                  b.CreateSIToFP(b.CreateSub(integer(8), shift), floats));
  return scale;
}

llvm::Value* DigitsOf(KernelEmitter& e, llvm::Value* x, llvm::Value* shift) {
  llvm::IRBuilder<>& b = e.b();
  STOKER_CHECK(KernelEmitter::WidthOf(x) == kLanes);
  llvm::Constant* zero = llvm::Constant::getNullValue(IntLanes(x));
  return ToBytes(e, e.CallIntrinsic("llvm.x86.avx512.mask.cvtps2dq.512",
                                    {Scale(e, x, shift), zero, b.getInt16(0xffff), b.getInt32(4)}));
}

llvm::Value* SpecialDigitsOf(KernelEmitter& e, llvm::Value* x) {
  llvm::IRBuilder<>& b = e.b();
  llvm::Type* type = IntLanes(x);
  const auto integer = [&](std::int64_t value) { return KernelEmitter::IntOf(type, value); };
  llvm::Value* zero = b.CreateFCmpOEQ(x, llvm::Constant::getNullValue(x->getType()));
  llvm::Value* digits = b.CreateSelect(zero, integer(0), SignOf(e, x));
  const auto mark = [&](llvm::Value* where, std::int64_t value) {
    digits = b.CreateSelect(where, integer(value), digits);
  };
  mark(b.CreateFCmpOEQ(x, llvm::ConstantFP::getInfinity(x->getType())), kInfinity);
  mark(b.CreateFCmpOEQ(x, llvm::ConstantFP::getInfinity(x->getType(), /*Negative=*/true)),
       kNegativeInfinity);
  mark(b.CreateFCmpUNO(x, x), kNaN);
  return ToBytes(e, digits);
}

llvm::Value* ValueOfDigits(KernelEmitter& e, llvm::Value* digits) {
  llvm::IRBuilder<>& b = e.b();
  llvm::Type* type = digits->getType();
  llvm::Type* floats = FloatLanes(digits);
  const auto integer = [&](std::int64_t value) { return KernelEmitter::IntOf(type, value); };
  llvm::Value* bytes = b.CreateXor(digits, integer(kBias));
  llvm::Value* signed24 = b.CreateAShr(b.CreateShl(bytes, integer(8)), integer(8));
  llvm::Value* whole = b.CreateSub(signed24, integer(kBias));
  llvm::Value* value = b.CreateSIToFP(whole, floats);
  const auto unmark = [&](std::int64_t mark, llvm::Constant* meaning) {
    value = b.CreateSelect(b.CreateICmpEQ(whole, integer(mark)), meaning, value);
  };
  unmark(kNaN, llvm::ConstantFP::getNaN(floats));
  unmark(kInfinity, llvm::ConstantFP::getInfinity(floats));
  unmark(kNegativeInfinity, llvm::ConstantFP::getInfinity(floats, /*Negative=*/true));
  return value;
}

llvm::Value* SumOfDigits(KernelEmitter& e, llvm::ArrayRef<llvm::Value*> sums,
                         llvm::Value* exponent) {
  llvm::IRBuilder<>& b = e.b();
  llvm::Type* floats = FloatLanes(sums[0]);
  const auto number = [&](llvm::Value* integers) { return b.CreateSIToFP(integers, floats); };
  const auto constant = [&](double value) { return llvm::ConstantFP::get(floats, value); };
  llvm::Value* sum = e.Fma(number(sums[1]), constant(256), number(sums[2]));
  return Scale(e, e.Fma(number(sums[0]), constant(65536), sum), exponent);
}

}  // namespace stoker::codegen
