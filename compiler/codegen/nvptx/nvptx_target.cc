#include "compiler/codegen/nvptx/nvptx_target.h"

#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/TargetParser/Triple.h>

#include <mutex>
#include <string>

namespace stoker::codegen {
namespace {

constexpr char kTriple[] = "nvptx64-nvidia-cuda";

void RegisterTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

}  // namespace

Result<std::unique_ptr<llvm::TargetMachine>> NvptxTargetMachine(const GpuMachine& machine) {
  RegisterTarget();
  std::string problem;
  const llvm::Triple triple(kTriple);
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, problem);
  if (target == nullptr) return Internal("LLVM has no NVPTX target: " + problem);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  // No PTX version is asked for: the oldest one that has the architecture is what the most
  // assemblers read.
  std::unique_ptr<llvm::TargetMachine> target_machine(
      target->createTargetMachine(triple, machine.arch, "", options, llvm::Reloc::PIC_,
                                  std::nullopt, llvm::CodeGenOptLevel::Default));
  if (target_machine == nullptr) return Internal("LLVM cannot target " + machine.arch + ".");
  return target_machine;
}

}  // namespace stoker::codegen
