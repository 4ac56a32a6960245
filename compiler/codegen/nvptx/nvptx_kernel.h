// A kernel and its CudaSchedule -> an LLVM module for NVPTX.
#pragma once

#include <memory>

#include "compiler/codegen/llvm/backend.h"
#include "compiler/ir/kernel_func.h"
#include "compiler/machine/gpu_machine.h"
#include "compiler/schedule/cuda/cuda_schedule.h"
#include "compiler/timing/laps.h"
#include "protocol/base/result.h"

namespace stoker::codegen {

// An optimized module that holds the kernel; its assembly is PTX. `func` and `schedule` are those
// of one CudaKernel.
Result<std::unique_ptr<Backend>> BuildNvptxKernel(const KernelFunc& func,
                                                  const CudaSchedule& schedule,
                                                  const GpuMachine& machine, Laps& laps);

}  // namespace stoker::codegen
