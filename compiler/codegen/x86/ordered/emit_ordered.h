// Adds kernels whose work along one dim is ordered to a module.
#pragma once

#include <llvm/IR/Module.h>

#include <vector>

#include "compiler/ir/ordered_func.h"
#include "compiler/machine/cpu_machine.h"
#include "compiler/schedule/cpu/ordered_schedule.h"

namespace stoker::codegen {

// `dims`: what the launch passes, in order.
void EmitScan(const ScanFunc& func, const cpu::ScanSchedule& schedule,
              const std::vector<SymDim>& dims, const CpuMachine& machine, llvm::Module& module);
void EmitSort(const SortFunc& func, const cpu::SortSchedule& schedule,
              const std::vector<SymDim>& dims, const CpuMachine& machine, llvm::Module& module);
void EmitScatter(const ScatterFunc& func, const cpu::ScatterSchedule& schedule,
                 const std::vector<SymDim>& dims, const CpuMachine& machine, llvm::Module& module);

}  // namespace stoker::codegen
