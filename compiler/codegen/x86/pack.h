// Adds the kernel that packs B to a module.
#pragma once

#include <llvm/IR/Module.h>

#include <vector>

#include "compiler/ir/contraction_func.h"
#include "compiler/machine/cpu_machine.h"
#include "compiler/schedule/cpu/pack_schedule.h"

namespace stoker::codegen {

// `dims`: what the launch passes, in order.
void EmitPack(const PackFunc& func, const cpu::PackSchedule& schedule,
              const std::vector<SymDim>& dims, const CpuMachine& machine, llvm::Module& module);

}  // namespace stoker::codegen
