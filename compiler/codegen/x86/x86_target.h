// LLVM's view of a CpuMachine.
#pragma once

#include <memory>

#include "compiler/machine/cpu_machine.h"
#include "protocol/base/result.h"

namespace llvm {
class TargetMachine;
}

namespace stoker::codegen {

Result<std::unique_ptr<llvm::TargetMachine>> X86TargetMachine(const CpuMachine& machine);

}  // namespace stoker::codegen
