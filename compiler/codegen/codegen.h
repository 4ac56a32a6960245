// Code generation: ScheduledKernel -> machine code. The only folder that sees LLVM.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "compiler/kernel/scheduled_kernel.h"
#include "compiler/timing/laps.h"
#include "protocol/base/result.h"
#include "protocol/key/target.h"

namespace stoker {

// What a thread of a CUDA kernel takes. Local memory is memory: where there is some, registers did
// not suffice, and the schedule is wrong.
struct ThreadResources {
  int registers = 0;
  int local_bytes = 0;
};

struct KernelCode {
  // CPU: shared object exporting kKernelSymbol, without undefined symbols. CUDA: cubin with the
  // entry that protocol/artifact/cuda_kernel_abi.h says.
  std::string elf;
  std::optional<ThreadResources> thread;  // CUDA.
};

struct KernelListing {
  std::string llvm_ir;                    // After optimization.
  std::string assembly;                   // CUDA: PTX.
  std::optional<ThreadResources> thread;  // CUDA, where this machine has an assembler.
};

// Makes kernels of one target, one after another: what they share of LLVM is made once. Not
// thread-safe; each thread has its own.
class KernelGenerator {
 public:
  explicit KernelGenerator(Target target);
  ~KernelGenerator();

  // Deterministic: equal input, equal bytes, whatever was generated before. `laps`, if there are
  // any, get its steps. FailedPrecondition for CUDA where there is no nvJitLink.
  Result<KernelCode> Generate(const ScheduledKernel& kernel, Laps* laps = nullptr);

 private:
  struct Shared;
  Target target_;
  std::unique_ptr<Shared> shared_;
};

// By a generator of its own. Thread-safe.
Result<KernelCode> GenerateKernel(const ScheduledKernel& kernel, const Target& target);
Result<KernelListing> ListKernel(const ScheduledKernel& kernel, const Target& target);

// "40 registers and 16 bytes of local memory a thread".
std::string ToString(const ThreadResources& thread);

// "llvm-22.1.8"
std::string CodegenVersion();
// Whether what makes machine code of LLVM's output is there: nvJitLink for CUDA, nothing for a CPU.
bool HasAssembler(TargetKind kind);
// Of what makes machine code beside LLVM: ";nvjitlink-13.0" for CUDA, where this machine has one;
// empty for a CPU.
std::string AssemblerVersion(const Target& target);

}  // namespace stoker
