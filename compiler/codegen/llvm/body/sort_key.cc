#include "compiler/codegen/llvm/body/sort_key.h"

namespace stoker::codegen {
namespace {

llvm::Value* KeyOfFloat(llvm::IRBuilder<>& b, llvm::Value* value) {
  llvm::Type* type = value->getType();
  llvm::Value* zero = llvm::Constant::getNullValue(type);
  value = b.CreateSelect(b.CreateFCmpOEQ(value, zero), zero, value);
  const unsigned bits = type->getScalarSizeInBits();
  llvm::Type* integer = b.getIntNTy(bits);
  llvm::Value* word = b.CreateBitCast(value, integer);
  llvm::Value* sign = llvm::ConstantInt::get(integer, llvm::APInt::getSignMask(bits));
  llvm::Value* negative = b.CreateICmpSLT(word, llvm::Constant::getNullValue(integer));
  llvm::Value* key = b.CreateSelect(negative, b.CreateNot(word), b.CreateOr(word, sign));
  llvm::Value* nan = b.CreateFCmpUNO(value, value);
  return b.CreateSelect(nan, llvm::Constant::getAllOnesValue(integer), key);
}

llvm::Value* KeyOfInteger(llvm::IRBuilder<>& b, DType dtype, llvm::Value* value) {
  const unsigned bits = SizeInBytes(dtype) == 8 ? 64 : 32;
  llvm::Type* integer = b.getIntNTy(bits);
  if (dtype == DType::kU8 || dtype == DType::kBool) return b.CreateZExt(value, integer);
  return b.CreateXor(b.CreateSExt(value, integer),
                     llvm::ConstantInt::get(integer, llvm::APInt::getSignMask(bits)));
}

}  // namespace

llvm::Value* SortKey(KernelEmitter& emitter, DType dtype, llvm::Value* value, bool descending) {
  llvm::IRBuilder<>& b = emitter.b();
  llvm::Value* key =
      value->getType()->isFloatingPointTy() ? KeyOfFloat(b, value) : KeyOfInteger(b, dtype, value);
  return descending ? b.CreateNot(key) : key;
}

}  // namespace stoker::codegen
