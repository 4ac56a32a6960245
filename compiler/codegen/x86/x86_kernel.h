// KernelFunc -> an LLVM module with its kernel for x86.
#pragma once

#include <memory>

#include "compiler/codegen/llvm/backend.h"
#include "compiler/ir/kernel_func.h"
#include "compiler/machine/cpu_machine.h"
#include "compiler/schedule/cpu/launch_shape.h"
#include "compiler/timing/laps.h"
#include "protocol/base/result.h"

namespace stoker::codegen {

// An optimized module that holds the kernel. `func` is verified.
Result<std::unique_ptr<Backend>> BuildX86Kernel(const KernelFunc& func, const CpuMachine& machine,
                                                Laps& laps);
Result<LaunchShape> LaunchShapeOf(const KernelFunc& func, const CpuMachine& machine);

}  // namespace stoker::codegen
