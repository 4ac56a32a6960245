// A kernel and its CudaSchedule -> an LLVM module for NVPTX.
#pragma once

#include <memory>
#include <string>

#include "compiler/codegen/llvm/backend.h"
#include "compiler/codegen/nvptx/cubin_resources.h"
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

struct NvptxCode {
  std::string ptx;  // That was assembled.
  std::string cubin;
  CubinResources resources;
};

// `ptx`: that of the kernel with this schedule. Of the blocks that an SM is to hold, takes the most
// for which no register is spilled. Fails as AssemblePtx.
Result<NvptxCode> AssembleNvptxKernel(std::string ptx, const CudaSchedule& schedule,
                                      const std::string& arch);

}  // namespace stoker::codegen
