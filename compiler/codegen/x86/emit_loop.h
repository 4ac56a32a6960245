// Adds the kernel of a loop function to a module; says how it is launched.
#pragma once

#include <llvm/IR/Module.h>

#include "compiler/ir/loop_func.h"
#include "compiler/machine/cpu_machine.h"
#include "compiler/schedule/cpu/launch_shape.h"
#include "protocol/base/result.h"

namespace stoker::codegen {

Status EmitLoop(const LoopFunc& func, const CpuMachine& machine, llvm::Module& module);
Result<LaunchShape> LaunchShapeOfLoop(const LoopFunc& func, const CpuMachine& machine);

}  // namespace stoker::codegen
