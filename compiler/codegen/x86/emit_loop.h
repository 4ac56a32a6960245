// Adds the kernel of a loop function to a module.
#pragma once

#include <llvm/IR/Module.h>

#include <vector>

#include "compiler/ir/loop_func.h"
#include "compiler/machine/cpu_machine.h"
#include "compiler/schedule/cpu/loop_schedule.h"
#include "protocol/base/result.h"

namespace stoker::codegen {

// `dims`: what the launch passes, in order.
Status EmitLoop(const LoopFunc& func, const cpu::LoopSchedule& schedule,
                const std::vector<SymDim>& dims, const CpuMachine& machine, llvm::Module& module);

}  // namespace stoker::codegen
