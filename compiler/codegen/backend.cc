#include "compiler/codegen/backend.h"

#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/TargetParser/Triple.h>

#include <mutex>

namespace stoker::codegen {
namespace {

constexpr char kTriple[] = "x86_64-unknown-linux-gnu";

// The IR arrives vectorized and unrolled; what is left is to clean up after the emitters: equal
// address computations, what does not change in a loop, constants.
constexpr char kPasses[] =
    "function(early-cse,instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm),early-cse)";

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

class X86Backend final : public Backend {
 public:
  explicit X86Backend(std::unique_ptr<llvm::TargetMachine> machine)
      : machine_(std::move(machine)), module_("kernel", context_) {
    module_.setTargetTriple(llvm::Triple(kTriple));
    module_.setDataLayout(machine_->createDataLayout());
    module_.setPICLevel(llvm::PICLevel::BigPIC);
  }

  llvm::Module& module() override { return module_; }

  Status Optimize() override {
    std::string problem;
    llvm::raw_string_ostream stream(problem);
    if (llvm::verifyModule(module_, &stream)) {
      return Internal("Code generation made an invalid LLVM module: " + problem);
    }
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager cgsccs;
    llvm::ModuleAnalysisManager modules;
    llvm::PassBuilder builder(machine_.get());
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(cgsccs);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, cgsccs, modules);
    llvm::ModulePassManager passes;
    if (llvm::Error error = builder.parsePassPipeline(passes, kPasses)) {
      return Internal("LLVM pass pipeline: " + llvm::toString(std::move(error)));
    }
    passes.run(module_, modules);
    return Ok();
  }

  Result<std::string> EmitObject() override { return Emit(llvm::CodeGenFileType::ObjectFile); }
  Result<std::string> EmitAssembly() override { return Emit(llvm::CodeGenFileType::AssemblyFile); }

 private:
  Result<std::string> Emit(llvm::CodeGenFileType type) {
    llvm::SmallString<0> out;
    llvm::raw_svector_ostream stream(out);
    llvm::legacy::PassManager passes;
    if (machine_->addPassesToEmitFile(passes, stream, nullptr, type)) {
      return Internal("LLVM cannot emit x86-64 code.");
    }
    passes.run(module_);
    return std::string(out.str());
  }

  llvm::LLVMContext context_;
  std::unique_ptr<llvm::TargetMachine> machine_;
  llvm::Module module_;
};

}  // namespace

Result<std::unique_ptr<Backend>> Backend::Create(const Machine& machine) {
  RegisterTarget();
  std::string problem;
  const llvm::Triple triple(kTriple);
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, problem);
  if (target == nullptr) return Internal("LLVM has no x86-64 target: " + problem);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  std::unique_ptr<llvm::TargetMachine> target_machine(
      target->createTargetMachine(triple, machine.cpu, machine.features, options, llvm::Reloc::PIC_,
                                  llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
  if (target_machine == nullptr) return Internal("LLVM cannot target " + machine.cpu + ".");
  return std::unique_ptr<Backend>(std::make_unique<X86Backend>(std::move(target_machine)));
}

}  // namespace stoker::codegen
