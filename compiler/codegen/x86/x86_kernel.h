// A kernel and its CpuSchedule -> an LLVM module for x86.
#pragma once

#include <memory>

#include "compiler/codegen/llvm/backend.h"
#include "compiler/ir/kernel_func.h"
#include "compiler/machine/cpu_machine.h"
#include "compiler/schedule/cpu/cpu_schedule.h"
#include "compiler/timing/laps.h"
#include "protocol/base/result.h"

namespace stoker::codegen {

// An optimized module that holds the kernel. `target_machine` is X86TargetMachine's for `machine`.
// `schedule` is one of those that schedule/cpu gives for `func`.
Result<std::unique_ptr<Backend>> BuildX86Kernel(const KernelFunc& func, const CpuSchedule& schedule,
                                                const CpuMachine& machine,
                                                std::shared_ptr<llvm::TargetMachine> target_machine,
                                                Laps& laps);

}  // namespace stoker::codegen
