// Adds the CUDA kernel of a loop function, or of several, to a module. One function for each form
// of schedule: `func` and `schedule` are those of one CudaKernel.
#pragma once

#include <llvm/IR/Module.h>

#include "compiler/ir/joined_func.h"
#include "compiler/ir/loop_func.h"
#include "compiler/machine/gpu_machine.h"
#include "compiler/schedule/cuda/cuda_schedule.h"

namespace stoker::codegen {

void EmitCudaPoints(const LoopFunc& func, const CudaSchedule& schedule, const GpuMachine& machine,
                    llvm::Module& module);
void EmitCudaJoined(const JoinedFunc& func, const CudaSchedule& schedule, const GpuMachine& machine,
                    llvm::Module& module);
void EmitCudaRows(const LoopFunc& func, const CudaSchedule& schedule, const GpuMachine& machine,
                  llvm::Module& module);
void EmitCudaColumns(const LoopFunc& func, const CudaSchedule& schedule, const GpuMachine& machine,
                     llvm::Module& module);

}  // namespace stoker::codegen
