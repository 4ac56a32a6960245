// NvptxEmitter: a kernel function for a GPU (cuda_kernel_abi.h), as one of its threads sees it.
#pragma once

#include "compiler/codegen/llvm/emitter.h"
#include "compiler/machine/gpu_machine.h"
#include "compiler/schedule/cuda/cuda_schedule.h"

namespace stoker::codegen {

class NvptxEmitter final : public KernelEmitter {
 public:
  NvptxEmitter(llvm::Module& module, const GpuMachine& machine, const CudaSchedule& schedule,
               std::uint32_t num_operands);

  // i64.
  llvm::Value* ThreadIndex();
  llvm::Value* BlockIndex();

 private:
  llvm::Value* LoadBuffer(std::uint32_t operand) override;
  llvm::Value* LoadDim(std::size_t slot) override;
  bool HasGather(DType dtype) const override;
  llvm::Value* RoundToBF16InHardware(llvm::Value* value) override;
  llvm::Value* ScaleInHardware(llvm::Value* x, llvm::Value* n) override;

  std::uint32_t num_operands_;
};

}  // namespace stoker::codegen
