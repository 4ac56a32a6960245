// Kernels whose work along one dim is ordered: adds each to a module; says how it is launched.
#pragma once

#include <llvm/IR/Module.h>

#include "compiler/ir/ordered_func.h"
#include "compiler/machine/cpu_machine.h"
#include "compiler/schedule/cpu/launch_shape.h"
#include "protocol/base/result.h"

namespace stoker::codegen {

Status EmitScan(const ScanFunc& func, const CpuMachine& machine, llvm::Module& module);
Result<LaunchShape> LaunchShapeOfScan(const ScanFunc& func, const CpuMachine& machine);
Status EmitSort(const SortFunc& func, const CpuMachine& machine, llvm::Module& module);
Result<LaunchShape> LaunchShapeOfSort(const SortFunc& func);
Status EmitScatter(const ScatterFunc& func, const CpuMachine& machine, llvm::Module& module);
Result<LaunchShape> LaunchShapeOfScatter(const ScatterFunc& func);

}  // namespace stoker::codegen
