// The part of KernelEmitter that reads and writes memory.
#include <llvm/IR/Intrinsics.h>

#include "compiler/codegen/llvm/emitter.h"
#include "compiler/codegen/llvm/exact_bf16.h"

namespace stoker::codegen {
namespace {

constexpr unsigned kInactiveBytes = 16;

}  // namespace

void KernelEmitter::TagAccess(llvm::Instruction* access, std::uint32_t operand) {
  if (alias_scopes_.empty()) return;
  const std::size_t slot = operand == kScratch ? alias_scopes_.size() - 1 : operand;
  access->setMetadata(llvm::LLVMContext::MD_alias_scope, alias_scopes_[slot]);
  access->setMetadata(llvm::LLVMContext::MD_noalias, noalias_scopes_[slot]);
}

llvm::Align KernelEmitter::AlignOf(DType dtype, int) const {
  return llvm::Align(static_cast<std::uint64_t>(SizeInBytes(dtype)));
}

llvm::Value* KernelEmitter::LoadIf(llvm::Value* condition, llvm::Type* type, llvm::Value* pointer,
                                   llvm::Align align) {
  pointer = builder_.CreateSelect(condition, pointer, Zeros());
  return builder_.CreateAlignedLoad(type, pointer, align);
}

void KernelEmitter::StoreIf(llvm::Value* condition, llvm::Value* value, llvm::Value* pointer,
                            llvm::Align align) {
  builder_.CreateAlignedStore(value, builder_.CreateSelect(condition, pointer, Sink()), align);
}

llvm::Value* KernelEmitter::LoadLanes(std::uint32_t operand, DType dtype, llvm::Value* pointer,
                                      int width, llvm::Value* mask) {
  llvm::Type* type = VectorOf(MemoryType(dtype), width);
  const llvm::Align align = AlignOf(dtype, width);
  llvm::Instruction* load = nullptr;
  if (mask == nullptr) {
    load = builder_.CreateAlignedLoad(type, pointer, align);
  } else if (WidthOf(mask) == 1) {
    // Perhaps not of the operand: untagged.
    return FromMemory(dtype, LoadIf(mask, type, pointer, align));
  } else {
    load =
        builder_.CreateMaskedLoad(type, pointer, align, mask, llvm::Constant::getNullValue(type));
  }
  TagAccess(load, operand);
  return FromMemory(dtype, load);
}

void KernelEmitter::StoreLanes(std::uint32_t operand, DType dtype, llvm::Value* pointer,
                               llvm::Value* value, llvm::Value* mask) {
  value = ToMemory(dtype, value);
  const llvm::Align align = AlignOf(dtype, WidthOf(value));
  llvm::Instruction* store = nullptr;
  if (mask == nullptr) {
    store = builder_.CreateAlignedStore(value, pointer, align);
  } else if (WidthOf(value) == 1) {
    StoreIf(mask, value, pointer, align);
    return;
  } else {
    store = builder_.CreateMaskedStore(value, pointer, align, mask);
  }
  TagAccess(store, operand);
}

llvm::Value* KernelEmitter::GatherLanes(std::uint32_t operand, DType dtype, llvm::Value* base,
                                        llvm::Value* offsets, llvm::Value* mask) {
  const int width = WidthOf(offsets);
  llvm::Type* lane = MemoryType(dtype);
  const llvm::Align align(static_cast<std::uint64_t>(SizeInBytes(dtype)));
  if (width == 1) return LoadLanes(operand, dtype, ElementPointer(base, dtype, offsets), 1, mask);
  llvm::Type* type = VectorOf(lane, width);
  if (HasGather(dtype)) {
    llvm::Value* pointers = builder_.CreateInBoundsGEP(lane, base, offsets);
    llvm::Instruction* load = builder_.CreateMaskedGather(type, pointers, align, mask,
                                                          llvm::Constant::getNullValue(type));
    TagAccess(load, operand);
    return FromMemory(dtype, load);
  }
  // One scalar load a lane; inactive lanes read zeros.
  llvm::Value* result = llvm::Constant::getNullValue(type);
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(width); ++i) {
    llvm::Value* pointer =
        builder_.CreateInBoundsGEP(lane, base, builder_.CreateExtractElement(offsets, i));
    if (mask != nullptr) {
      llvm::Value* element = LoadIf(builder_.CreateExtractElement(mask, i), lane, pointer, align);
      result = builder_.CreateInsertElement(result, element, i);
      continue;
    }
    llvm::Instruction* load = builder_.CreateAlignedLoad(lane, pointer, align);
    TagAccess(load, operand);
    result = builder_.CreateInsertElement(result, load, i);
  }
  return FromMemory(dtype, result);
}

void KernelEmitter::ScatterLanes(std::uint32_t operand, DType dtype, llvm::Value* base,
                                 llvm::Value* offsets, llvm::Value* value, llvm::Value* mask) {
  const int width = WidthOf(offsets);
  if (width == 1) {
    StoreLanes(operand, dtype, ElementPointer(base, dtype, offsets), value, mask);
    return;
  }
  llvm::Type* lane = MemoryType(dtype);
  const llvm::Align align(static_cast<std::uint64_t>(SizeInBytes(dtype)));
  value = ToMemory(dtype, value);
  if (HasGather(dtype)) {
    llvm::Value* pointers = builder_.CreateInBoundsGEP(lane, base, offsets);
    TagAccess(builder_.CreateMaskedScatter(value, pointers, align, mask), operand);
    return;
  }
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(width); ++i) {
    llvm::Value* pointer =
        builder_.CreateInBoundsGEP(lane, base, builder_.CreateExtractElement(offsets, i));
    llvm::Value* element = builder_.CreateExtractElement(value, i);
    if (mask != nullptr) {
      StoreIf(builder_.CreateExtractElement(mask, i), element, pointer, align);
      continue;
    }
    TagAccess(builder_.CreateAlignedStore(element, pointer, align), operand);
  }
}

llvm::Value* KernelEmitter::FromMemory(DType dtype, llvm::Value* value) {
  const int width = WidthOf(value);
  if (dtype == DType::kF16) {
    return builder_.CreateFPExt(value, VectorOf(builder_.getFloatTy(), width));
  }
  if (dtype == DType::kBF16) {
    return builder_.CreateBitCast(BitsOfBF16(value), VectorOf(builder_.getFloatTy(), width));
  }
  if (dtype == DType::kBool) {
    return builder_.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
  }
  return value;
}

llvm::Value* KernelEmitter::BitsOfBF16(llvm::Value* value) {
  llvm::Value* bits = builder_.CreateZExt(value, VectorOf(builder_.getInt32Ty(), WidthOf(value)));
  return builder_.CreateShl(bits, llvm::ConstantInt::get(bits->getType(), 16));
}

llvm::Value* KernelEmitter::UpperHalves(llvm::Value* value) {
  const int width = WidthOf(value);
  llvm::Type* i32 = VectorOf(builder_.getInt32Ty(), width);
  llvm::Value* bits = builder_.CreateBitCast(value, i32);
  return builder_.CreateTrunc(builder_.CreateLShr(bits, llvm::ConstantInt::get(i32, 16)),
                              VectorOf(builder_.getInt16Ty(), width));
}

llvm::Value* KernelEmitter::ToMemory(DType dtype, llvm::Value* value) {
  const int width = WidthOf(value);
  if (dtype == DType::kF16) {
    return builder_.CreateFPTrunc(value, VectorOf(builder_.getHalfTy(), width));
  }
  if (dtype == DType::kBF16) return RoundToBF16(value);
  if (dtype == DType::kBool) {
    return builder_.CreateZExt(value, VectorOf(builder_.getInt8Ty(), width));
  }
  return value;
}

llvm::Value* KernelEmitter::RoundToBF16(llvm::Value* value) {
  llvm::Value* rounded = RoundToBF16InHardware(value);
  return rounded != nullptr ? rounded : RoundBitsToBF16(value);
}

llvm::Value* KernelEmitter::Round(DType dtype, llvm::Value* value) {
  if (dtype == DType::kBF16) {
    if (llvm::Value* rounded = RoundLikeBF16InHardware(value)) return rounded;
  }
  if (dtype != DType::kBF16 || !RoundsInRegisters())
    return FromMemory(dtype, ToMemory(dtype, value));
  if (IsExactBF16(value)) return value;
  llvm::Value* bits = RoundedBits(value);
  bits = builder_.CreateAnd(bits, llvm::ConstantInt::get(bits->getType(), 0xffff0000));
  return builder_.CreateBitCast(bits, value->getType());
}

llvm::Value* KernelEmitter::RoundBitsToBF16(llvm::Value* value) {
  return UpperHalves(RoundedBits(value));
}

llvm::Value* KernelEmitter::RoundedBits(llvm::Value* value) {
  llvm::Type* i32 = VectorOf(builder_.getInt32Ty(), WidthOf(value));
  const auto constant = [&](std::uint64_t v) { return llvm::ConstantInt::get(i32, v); };
  llvm::Value* bits = builder_.CreateBitCast(value, i32);
  llvm::Value* odd = builder_.CreateAnd(builder_.CreateLShr(bits, constant(16)), constant(1));
  llvm::Value* rounded = builder_.CreateAdd(bits, builder_.CreateAdd(odd, constant(0x7fff)));
  llvm::Value* chosen = QuietNaNOr(value, builder_.CreateBitCast(rounded, value->getType()));
  return builder_.CreateBitCast(chosen, i32);
}

llvm::Value* KernelEmitter::QuietNaNOr(llvm::Value* value, llvm::Value* otherwise) {
  llvm::Type* i32 = VectorOf(builder_.getInt32Ty(), WidthOf(value));
  llvm::Value* bits = builder_.CreateBitCast(value, i32);
  llvm::Value* quiet = builder_.CreateOr(bits, llvm::ConstantInt::get(i32, 0x400000));
  quiet = builder_.CreateBitCast(quiet, value->getType());
  return builder_.CreateSelect(builder_.CreateFCmpUNO(value, value), quiet, otherwise);
}

llvm::AllocaInst* KernelEmitter::EntryBytes(const char* name) {
  llvm::IRBuilder<> entry(entry_);
  llvm::Type* type = llvm::FixedVectorType::get(builder_.getInt8Ty(), kInactiveBytes);
  llvm::AllocaInst* bytes = entry.CreateAlloca(type, nullptr, name);
  bytes->setAlignment(llvm::Align(kInactiveBytes));
  return bytes;
}

llvm::Value* KernelEmitter::Zeros() {
  if (zeros_ == nullptr) {
    llvm::AllocaInst* bytes = EntryBytes("zeros");
    llvm::IRBuilder<> entry(entry_);
    entry.CreateAlignedStore(llvm::Constant::getNullValue(bytes->getAllocatedType()), bytes,
                             bytes->getAlign());
    zeros_ = bytes;
  }
  return zeros_;
}

llvm::Value* KernelEmitter::Sink() {
  if (sink_ == nullptr) sink_ = EntryBytes("sink");
  return sink_;
}

}  // namespace stoker::codegen
