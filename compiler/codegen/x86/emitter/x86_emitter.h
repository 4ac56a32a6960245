// X86Emitter: a kernel function for the CPU (kernel_abi.h). It runs tasks one after another, each
// on scratch memory of the calling thread.
#pragma once

#include <cstddef>
#include <string>

#include "compiler/codegen/llvm/emitter.h"
#include "compiler/machine/cpu_machine.h"

namespace stoker::cpu {}

namespace stoker::codegen {

using namespace cpu;  // Schedules, and what follows from them.

class X86Emitter final : public KernelEmitter {
 public:
  // `dims`: the non-constant expressions passed at launch, in order (LaunchShape::dims).
  X86Emitter(llvm::Module& module, const CpuMachine& machine, std::vector<SymDim> dims,
             std::uint32_t num_operands);

  const CpuMachine& machine() const { return machine_; }

  llvm::Value* TaskBegin() { return function()->getArg(2); }
  llvm::Value* TaskEnd() { return function()->getArg(3); }
  llvm::Value* Scratch(std::int64_t byte_offset);
  // A word of the thread's ScratchHeader, by its offset there.
  llvm::Value* HeaderWord(std::size_t offset);
  // Notes that `number` is what lies in scratch: whether the thread noted another one, or none yet,
  // in this launch.
  llvm::Value* NoteInScratch(llvm::Value* number);
  // body(task) for each task of the call.
  void ForEachTask(llvm::function_ref<void(llvm::Value*)> body);

  // As ToMemory(), but that subnormal numbers may become zero: of factors of sums of larger terms.
  llvm::Value* ToFactor(DType dtype, llvm::Value* value);
  // Fetches the line at `pointer` into the second-level cache, to be read.
  void FetchLine(llvm::Value* pointer);
  // The same number or pointer, of which the optimizer does not know where it comes from.
  llvm::Value* Opaque(llvm::Value* value);

 private:
  llvm::Value* LoadBuffer(std::uint32_t operand) override;
  llvm::Value* LoadDim(std::size_t slot) override;
  bool HasGather(DType dtype) const override;
  llvm::Value* RoundToBF16InHardware(llvm::Value* value) override;
  llvm::Value* QuietNaNOr(llvm::Value* value, llvm::Value* otherwise) override;
  bool RoundsInRegisters() const override { return true; }
  // By one instruction, which takes subnormal numbers for zero; null where there is none.
  llvm::Value* RoundNormalToBF16(llvm::Value* value);
  llvm::Value* ScaleInHardware(llvm::Value* x, llvm::Value* n) override;
  // Its instructions give the second operand where there is a NaN.
  llvm::Value* ExtremeInHardware(bool, llvm::Value*, llvm::Value*) override { return nullptr; }

  const CpuMachine& machine_;
};

// As LLVM names them: "+avx512bf16,+amx-tile".
std::string LlvmFeatures(const CpuMachine& machine);

}  // namespace stoker::codegen
