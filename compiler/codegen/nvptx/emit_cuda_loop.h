// Adds the CUDA kernel of a pointwise loop function to a module.
#pragma once

#include <llvm/IR/Module.h>

#include "compiler/ir/loop_func.h"
#include "compiler/machine/gpu_machine.h"
#include "compiler/schedule/cuda/cuda_schedule.h"

namespace stoker::codegen {

// `func` and `schedule` are those of one CudaKernel.
void EmitCudaLoop(const LoopFunc& func, const CudaSchedule& schedule, const GpuMachine& machine,
                  llvm::Module& module);

}  // namespace stoker::codegen
