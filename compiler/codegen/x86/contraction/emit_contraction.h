// Adds the kernel of a contraction to a module; says how it is launched.
#pragma once

#include <llvm/IR/Module.h>

#include "compiler/ir/contraction_func.h"
#include "compiler/machine/cpu_machine.h"
#include "compiler/schedule/cpu/launch_shape.h"
#include "protocol/base/result.h"

namespace stoker::codegen {

Status EmitContraction(const ContractionFunc& func, const CpuMachine& machine,
                       llvm::Module& module);
Result<LaunchShape> LaunchShapeOfContraction(const ContractionFunc& func,
                                             const CpuMachine& machine);

}  // namespace stoker::codegen
