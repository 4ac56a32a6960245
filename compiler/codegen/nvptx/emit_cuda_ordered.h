// Adds the CUDA kernel of an ordered function to a module. `func` and `schedule` are those of one
// CudaKernel.
#pragma once

#include <llvm/IR/Module.h>

#include "compiler/ir/ordered_func.h"
#include "compiler/machine/gpu_machine.h"
#include "compiler/schedule/cuda/cuda_schedule.h"

namespace stoker::codegen {

void EmitCudaScan(const ScanFunc& func, const CudaSchedule& schedule, const GpuMachine& machine,
                  llvm::Module& module);
void EmitCudaSort(const SortFunc& func, const CudaSchedule& schedule, const GpuMachine& machine,
                  llvm::Module& module);
void EmitCudaScatter(const ScatterFunc& func, const CudaSchedule& schedule,
                     const GpuMachine& machine, llvm::Module& module);

}  // namespace stoker::codegen
