#include "compiler/codegen/llvm/math/float_rounding.h"

#include <llvm/IR/Intrinsics.h>

namespace stoker::codegen {
namespace {

// i64 with at most 53 digits, which f64 holds: the digits that are too many leave a 1 behind.
llvm::Value* WithoutExcessDigits(KernelEmitter& emitter, llvm::Value* x) {
  llvm::IRBuilder<>& b = emitter.b();
  const auto integer = [&](std::int64_t v) { return KernelEmitter::IntOf(x->getType(), v); };
  constexpr std::int64_t kExact = std::int64_t{1} << 53;
  constexpr std::int64_t kExcess = (1 << 11) - 1;
  llvm::Value* carry = b.CreateAdd(b.CreateAnd(x, integer(kExcess)), integer(kExcess));
  llvm::Value* odd = b.CreateAnd(b.CreateOr(x, carry), integer(~kExcess));
  llvm::Value* exact = b.CreateICmpULE(b.CreateAdd(x, integer(kExact)), integer(2 * kExact));
  return b.CreateSelect(exact, x, odd);
}

}  // namespace

llvm::Value* EmitFloat(KernelEmitter& emitter, llvm::Value* x) {
  llvm::IRBuilder<>& b = emitter.b();
  llvm::Type* floats = KernelEmitter::VectorOf(b.getFloatTy(), KernelEmitter::WidthOf(x));
  return b.CreateArithmeticFence(b.CreateFPTrunc(x, floats), floats);
}

llvm::Value* EmitFloatRoundedToOdd(KernelEmitter& emitter, llvm::Value* x) {
  llvm::IRBuilder<>& b = emitter.b();
  const int width = KernelEmitter::WidthOf(x);
  llvm::Type* floats = KernelEmitter::VectorOf(b.getFloatTy(), width);
  llvm::Type* bits = KernelEmitter::VectorOf(b.getInt32Ty(), width);
  llvm::Value* nearest = b.CreateFPTrunc(x, floats);
  llvm::Value* back = b.CreateFPExt(nearest, x->getType());
  const auto magnitude = [&](llvm::Value* v) {
    return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v);
  };
  llvm::Value* beyond = b.CreateFCmpOGT(magnitude(back), magnitude(x));
  llvm::Value* inexact = b.CreateFCmpONE(back, x);
  // One step back toward zero where the nearest is too large, as all ones are -1; then the last
  // digit. The largest float is odd, so that what overflows f32 ends there.
  llvm::Value* truncated = b.CreateAdd(b.CreateBitCast(nearest, bits), b.CreateSExt(beyond, bits));
  return b.CreateBitCast(b.CreateOr(truncated, b.CreateZExt(inexact, bits)), floats);
}

llvm::Value* EmitFloatRoundedToOdd(KernelEmitter& emitter, llvm::Value* x, bool is_signed) {
  llvm::IRBuilder<>& b = emitter.b();
  const int width = KernelEmitter::WidthOf(x);
  const unsigned digits = x->getType()->getScalarSizeInBits();
  const bool fits = digits <= 16;  // In f32.
  llvm::Type* type = KernelEmitter::VectorOf(fits ? b.getFloatTy() : b.getDoubleTy(), width);
  if (digits == 64) x = WithoutExcessDigits(emitter, x);
  x = is_signed ? b.CreateSIToFP(x, type) : b.CreateUIToFP(x, type);
  return fits ? x : EmitFloatRoundedToOdd(emitter, x);
}

}  // namespace stoker::codegen
