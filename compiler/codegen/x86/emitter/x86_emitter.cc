#include "compiler/codegen/x86/emitter/x86_emitter.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>

#include <utility>

#include "compiler/codegen/llvm/exact_bf16.h"
#include "protocol/artifact/kernel_abi.h"

namespace stoker::codegen {
namespace {

// Our feature names and LLVM's.
constexpr std::pair<const char*, const char*> kFeatureNames[] = {
    {"amx_bf16", "+amx-tile,+amx-bf16"}, {"amx_int8", "+amx-tile,+amx-int8"},
    {"avx512_bf16", "+avx512bf16"},      {"avx512_fp16", "+avx512fp16"},
    {"avx512_vnni", "+avx512vnni"},      {"avx_vnni", "+avxvnni"},
};

llvm::Function* KernelFunction(llvm::Module& module, const CpuMachine& machine) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* pointer = llvm::PointerType::get(context, 0);
  llvm::Type* i64 = llvm::Type::getInt64Ty(context);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context),
                                       {pointer, pointer, i64, i64, pointer}, false);
  llvm::Function* function =
      llvm::Function::Create(type, llvm::Function::ExternalLinkage, kKernelSymbol, module);
  function->setDSOLocal(true);
  function->addFnAttr("target-cpu", machine.arch);
  if (!machine.features.empty()) function->addFnAttr("target-features", LlvmFeatures(machine));
  const std::string bits = std::to_string(machine.vector_bytes * 8);
  function->addFnAttr("prefer-vector-width", bits);
  function->addFnAttr("min-legal-vector-width", bits);
  function->addFnAttr("no-jump-tables", "true");
  function->addFnAttr("no-builtins");
  function->addFnAttr(llvm::Attribute::NoUnwind);
  for (unsigned i : {0U, 1U, 4U}) function->addParamAttr(i, llvm::Attribute::NoAlias);
  for (unsigned i : {0U, 1U}) function->addParamAttr(i, llvm::Attribute::ReadOnly);
  function->addParamAttr(4, llvm::Attribute::getWithAlignment(context, llvm::Align(64)));
  return function;
}

}  // namespace

std::string LlvmFeatures(const CpuMachine& machine) {
  std::string features;
  for (const auto& [ours, llvm] : kFeatureNames) {
    if (!machine.features.contains(ours)) continue;
    if (!features.empty()) features += ',';
    features += llvm;
  }
  return features;
}

X86Emitter::X86Emitter(llvm::Module& module, const CpuMachine& machine, std::vector<SymDim> dims,
                       std::uint32_t num_operands)
    : KernelEmitter(KernelFunction(module, machine), std::move(dims), num_operands),
      machine_(machine) {}

llvm::Value* X86Emitter::LoadBuffer(std::uint32_t operand) {
  llvm::IRBuilder<> entry(this->entry());
  llvm::Type* pointer = entry.getPtrTy();
  llvm::Value* slot = entry.CreateConstInBoundsGEP1_32(pointer, function()->getArg(0), operand);
  return entry.CreateLoad(pointer, slot, "buffer" + std::to_string(operand));
}

llvm::Value* X86Emitter::LoadDim(std::size_t slot) {
  llvm::IRBuilder<> entry(this->entry());
  llvm::Value* pointer = entry.CreateConstInBoundsGEP1_32(entry.getInt64Ty(), function()->getArg(1),
                                                          static_cast<unsigned>(slot));
  return entry.CreateLoad(entry.getInt64Ty(), pointer, "dim" + std::to_string(slot));
}

llvm::Value* X86Emitter::Scratch(std::int64_t byte_offset) {
  if (byte_offset == 0) return function()->getArg(4);
  return b().CreateConstInBoundsGEP1_64(b().getInt8Ty(), function()->getArg(4),
                                        static_cast<std::uint64_t>(byte_offset));
}

llvm::Value* X86Emitter::HeaderWord(std::size_t offset) {
  return Scratch(static_cast<std::int64_t>(offset) - kScratchHeaderBytes);
}

llvm::Value* X86Emitter::NoteInScratch(llvm::Value* number) {
  llvm::Value* is_noted = HeaderWord(offsetof(ScratchHeader, is_noted));
  llvm::Value* note = HeaderWord(offsetof(ScratchHeader, note));
  const auto load = [&](llvm::Value* pointer) {
    return b().CreateAlignedLoad(b().getInt64Ty(), pointer, llvm::Align(8));
  };
  llvm::Value* fresh =
      b().CreateOr(b().CreateICmpEQ(load(is_noted), I64(0)), b().CreateICmpNE(load(note), number));
  b().CreateAlignedStore(I64(1), is_noted, llvm::Align(8));
  b().CreateAlignedStore(number, note, llvm::Align(8));
  return fresh;
}

void X86Emitter::ForEachTask(llvm::function_ref<void(llvm::Value*)> body) {
  For(TaskBegin(), TaskEnd(), 1, body);
}

void X86Emitter::FetchLine(llvm::Value* pointer) {
  b().CreateIntrinsic(llvm::Intrinsic::prefetch, {b().getPtrTy()},
                      {pointer, b().getInt32(0), b().getInt32(2), b().getInt32(1)});
}

llvm::Value* X86Emitter::Opaque(llvm::Value* value) {
  if (llvm::isa<llvm::Constant>(value)) return value;
  llvm::FunctionType* type = llvm::FunctionType::get(value->getType(), {value->getType()}, false);
  llvm::InlineAsm* nothing = llvm::InlineAsm::get(type, "", "=r,0", /*hasSideEffects=*/false);
  return b().CreateCall(type, nothing, {value});
}

bool X86Emitter::HasGather(DType dtype) const { return machine_.avx512 && SizeInBytes(dtype) >= 4; }

llvm::Value* X86Emitter::RoundNormalToBF16(llvm::Value* value) {
  const int width = WidthOf(value);
  if (!machine_.avx512_bf16 || (width != 16 && width != 8)) return nullptr;
  llvm::Value* rounded = CallIntrinsic(
      width == 16 ? "llvm.x86.avx512bf16.cvtneps2bf16.512" : "llvm.x86.avx512bf16.cvtneps2bf16.256",
      {value});
  return b().CreateBitCast(rounded, VectorOf(b().getInt16Ty(), width));
}

llvm::Value* X86Emitter::ToFactor(DType dtype, llvm::Value* value) {
  llvm::Value* rounded = dtype == DType::kBF16 ? RoundNormalToBF16(value) : nullptr;
  return rounded != nullptr ? rounded : ToMemory(dtype, value);
}

// The instruction takes subnormal numbers for zero: where there is one, another way is taken.
llvm::Value* X86Emitter::RoundToBF16InHardware(llvm::Value* value) {
  llvm::Value* rounded = RoundNormalToBF16(value);
  if (rounded == nullptr) return nullptr;
  if (IsExactBF16(value)) return UpperHalves(value);
  constexpr int kSubnormal = 0x20;
  const int width = WidthOf(value);
  llvm::Value* is_subnormal = CallIntrinsic(
      width == 16 ? "llvm.x86.avx512.fpclass.ps.512" : "llvm.x86.avx512.fpclass.ps.256",
      {value, b().getInt32(kSubnormal)});
  llvm::Type* mask = b().getIntNTy(static_cast<unsigned>(width));
  llvm::Value* any = b().CreateIsNotNull(b().CreateBitCast(is_subnormal, mask));
  llvm::BasicBlock* before = b().GetInsertBlock();
  Values result = {rounded};
  If(any, result, [&](Values& values) { values[0] = RoundBitsToBF16(value); });
  llvm::MDBuilder weights(b().getContext());
  before->getTerminator()->setMetadata(llvm::LLVMContext::MD_prof,
                                       weights.createBranchWeights(1, 1 << 20));
  return result[0];
}

llvm::Value* X86Emitter::QuietNaNOr(llvm::Value* value, llvm::Value* otherwise) {
  constexpr int kWidth = 16;
  if (!machine_.avx512 || WidthOf(value) != kWidth) {
    return KernelEmitter::QuietNaNOr(value, otherwise);
  }
  // One answer for each kind of number: 2, the same as a quiet NaN, for the first two, which are
  // quiet and signaling NaN; 0, what was there, for all others.
  constexpr std::uint32_t kAnswers = 0x22;
  llvm::Constant* answers = llvm::ConstantInt::get(VectorOf(b().getInt32Ty(), kWidth), kAnswers);
  return CallIntrinsic("llvm.x86.avx512.mask.fixupimm.ps.512",
                       {otherwise, value, answers, b().getInt32(0), b().getInt16(0xffff),
                        b().getInt32(4)});  // In the current rounding mode.
}

llvm::Value* X86Emitter::ScaleInHardware(llvm::Value* x, llvm::Value* n) {
  const bool single = x->getType()->getScalarType()->isFloatTy();
  if (!machine_.avx512 || WidthOf(x) * (single ? 32 : 64) != 512) return nullptr;
  llvm::Value* rounding = b().getInt32(4);  // The current mode.
  llvm::Value* all = single ? static_cast<llvm::Value*>(b().getInt16(0xffff)) : b().getInt8(0xff);
  const char* name =
      single ? "llvm.x86.avx512.mask.scalef.ps.512" : "llvm.x86.avx512.mask.scalef.pd.512";
  return CallIntrinsic(name, {x, n, x, all, rounding});
}

}  // namespace stoker::codegen
