// Adds the kernel that packs B to a module; says how it is launched.
#pragma once

#include <llvm/IR/Module.h>

#include "compiler/ir/contraction_func.h"
#include "compiler/machine/cpu_machine.h"
#include "compiler/schedule/cpu/launch_shape.h"
#include "protocol/base/result.h"

namespace stoker::codegen {

Status EmitPack(const PackFunc& func, const CpuMachine& machine, llvm::Module& module);
Result<LaunchShape> LaunchShapeOfPack(const PackFunc& func);

}  // namespace stoker::codegen
