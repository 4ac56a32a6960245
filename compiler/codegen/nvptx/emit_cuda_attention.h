// Adds the CUDA kernel of attention to a module. `func` and `schedule` are those of one CudaKernel.
#pragma once

#include <llvm/IR/Module.h>

#include "compiler/ir/attention_func.h"
#include "compiler/machine/gpu_machine.h"
#include "compiler/schedule/cuda/cuda_schedule.h"

namespace stoker::codegen {

void EmitCudaAttention(const AttentionFunc& func, const CudaSchedule& schedule,
                       const GpuMachine& machine, llvm::Module& module);

}  // namespace stoker::codegen
