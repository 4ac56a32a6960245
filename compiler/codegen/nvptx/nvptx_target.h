// LLVM's view of a GpuMachine.
#pragma once

#include <memory>

#include "compiler/machine/gpu_machine.h"
#include "protocol/base/result.h"

namespace llvm {
class TargetMachine;
}

namespace stoker::codegen {

Result<std::unique_ptr<llvm::TargetMachine>> NvptxTargetMachine(const GpuMachine& machine);

}  // namespace stoker::codegen
