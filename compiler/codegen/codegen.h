// Code generation: ScheduledKernel -> machine code. The only folder that sees LLVM.
#pragma once

#include <string>

#include "compiler/kernel/scheduled_kernel.h"
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

// Deterministic: equal input, equal bytes. Thread-safe. `laps`, if there are any, get its steps.
Result<KernelCode> GenerateKernel(const ScheduledKernel& kernel, const Target& target,
                                  Laps* laps = nullptr);
Result<KernelListing> ListKernel(const ScheduledKernel& kernel, const Target& target);

// "llvm-22.1.8"
std::string CodegenVersion();

}  // namespace stoker
