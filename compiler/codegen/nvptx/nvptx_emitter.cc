#include "compiler/codegen/nvptx/nvptx_emitter.h"

#include <llvm/IR/IntrinsicsNVPTX.h>

#include <string>

#include "protocol/artifact/cuda_kernel_abi.h"

namespace stoker::codegen {
namespace {

llvm::Function* KernelFunction(llvm::Module& module, const GpuMachine& machine,
                               const CudaSchedule& schedule, std::uint32_t num_operands) {
  llvm::LLVMContext& context = module.getContext();
  std::vector<llvm::Type*> parameters(num_operands, llvm::PointerType::get(context, 0));
  parameters.resize(num_operands + schedule.dims.size(), llvm::Type::getInt64Ty(context));
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), parameters, false);
  llvm::Function* function =
      llvm::Function::Create(type, llvm::Function::ExternalLinkage, kCudaKernelSymbol, module);
  function->setCallingConv(llvm::CallingConv::PTX_Kernel);
  function->addFnAttr("target-cpu", machine.arch);
  // A launch with another block fails, rather than to compute something else.
  function->addFnAttr("nvvm.reqntid", std::to_string(schedule.threads) + ",1,1");
  function->addFnAttr("no-builtins");
  function->addFnAttr(llvm::Attribute::NoUnwind);
  return function;
}

}  // namespace

NvptxEmitter::NvptxEmitter(llvm::Module& module, const GpuMachine& machine,
                           const CudaSchedule& schedule, std::uint32_t num_operands)
    : KernelEmitter(KernelFunction(module, machine, schedule, num_operands), schedule.dims,
                    num_operands),
      num_operands_(num_operands) {}

llvm::Value* NvptxEmitter::ThreadIndex() {
  return b().CreateZExt(b().CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, {}),
                        b().getInt64Ty());
}

llvm::Value* NvptxEmitter::BlockIndex() {
  return b().CreateZExt(b().CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, {}),
                        b().getInt64Ty());
}

llvm::Value* NvptxEmitter::LoadBuffer(std::uint32_t operand) { return function()->getArg(operand); }

llvm::Value* NvptxEmitter::LoadDim(std::size_t slot) {
  return function()->getArg(num_operands_ + static_cast<unsigned>(slot));
}

// A thread has one lane, and lanes of threads gather by themselves.
bool NvptxEmitter::HasGather(DType) const { return false; }

llvm::Value* NvptxEmitter::RoundToBF16InHardware(llvm::Value* value) {
  const int width = WidthOf(value);
  llvm::Value* rounded = b().CreateFPTrunc(value, VectorOf(b().getBFloatTy(), width));
  return b().CreateBitCast(rounded, VectorOf(b().getInt16Ty(), width));
}

llvm::Value* NvptxEmitter::ScaleInHardware(llvm::Value*, llvm::Value*) { return nullptr; }

}  // namespace stoker::codegen
