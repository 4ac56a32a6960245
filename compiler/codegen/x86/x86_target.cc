#include "compiler/codegen/x86/x86_target.h"

#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/TargetParser/Triple.h>

#include <mutex>
#include <string>

#include "compiler/codegen/x86/emitter/x86_emitter.h"

namespace stoker::codegen {
namespace {

constexpr char kTriple[] = "x86_64-unknown-linux-gnu";

void RegisterTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
  });
}

}  // namespace

Result<std::unique_ptr<llvm::TargetMachine>> X86TargetMachine(const CpuMachine& machine) {
  RegisterTarget();
  std::string problem;
  const llvm::Triple triple(kTriple);
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, problem);
  if (target == nullptr) return Internal("LLVM has no x86-64 target: " + problem);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  std::unique_ptr<llvm::TargetMachine> target_machine(target->createTargetMachine(
      triple, machine.arch, LlvmFeatures(machine), options, llvm::Reloc::PIC_,
      llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
  if (target_machine == nullptr) return Internal("LLVM cannot target " + machine.arch + ".");
  return target_machine;
}

}  // namespace stoker::codegen
