// Code generation: KernelFunc -> machine code. The only folder that sees LLVM.
#pragma once

#include <string>

#include "compiler/ir/kernel_func.h"
#include "compiler/schedule/cpu/launch_shape.h"
#include "compiler/timing/laps.h"
#include "protocol/base/result.h"
#include "protocol/key/target.h"

namespace stoker {

struct KernelCode {
  std::string elf;  // Shared object exporting kKernelSymbol, without undefined symbols.
};

struct KernelListing {
  std::string llvm_ir;  // After optimization.
  std::string assembly;
};

// Follows from the function and the target alone, without compiling it.
Result<LaunchShape> LaunchShapeOf(const KernelFunc& func, const Target& target);
// Deterministic: equal input, equal bytes. Thread-safe. `laps`, if there are any, get its steps.
Result<KernelCode> GenerateKernel(const KernelFunc& func, const Target& target,
                                  Laps* laps = nullptr);
Result<KernelListing> ListKernel(const KernelFunc& func, const Target& target);

// "llvm-22.1.8"
std::string CodegenVersion();

}  // namespace stoker
