// Adds the kernel of an attention to a module.
#pragma once

#include <llvm/IR/Module.h>

#include <vector>

#include "compiler/ir/attention_func.h"
#include "compiler/machine/cpu_machine.h"
#include "compiler/schedule/cpu/attention_plan.h"

namespace stoker::codegen {

// `dims`: what the launch passes, in order.
void EmitAttention(const AttentionFunc& func, const cpu::AttentionSchedule& schedule,
                   const std::vector<SymDim>& dims, const CpuMachine& machine,
                   llvm::Module& module);

}  // namespace stoker::codegen
