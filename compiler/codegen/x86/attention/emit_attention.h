// Adds the kernel of an attention to a module; says how it is launched.
#pragma once

#include <llvm/IR/Module.h>

#include "compiler/ir/attention_func.h"
#include "compiler/machine/cpu_machine.h"
#include "compiler/schedule/cpu/launch_shape.h"
#include "protocol/base/result.h"

namespace stoker::codegen {

Status EmitAttention(const AttentionFunc& func, const CpuMachine& machine, llvm::Module& module);
Result<LaunchShape> LaunchShapeOfAttention(const AttentionFunc& func, const CpuMachine& machine);

}  // namespace stoker::codegen
