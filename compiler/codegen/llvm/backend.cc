#include "compiler/codegen/llvm/backend.h"

#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include "compiler/codegen/llvm/one_lane_stores.h"

namespace stoker::codegen {
namespace {

// The IR arrives vectorized and unrolled; what is left is to clean up after the emitters: equal
// address computations, what does not change in a loop, constants.
constexpr char kPasses[] =
    "function(early-cse,instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm),early-cse)";
constexpr char kStrengthReduction[] = "Loop Strength Reduction";

}  // namespace

Backend::Backend(std::shared_ptr<llvm::TargetMachine> machine)
    : machine_(std::move(machine)), module_("kernel", context_) {
  module_.setTargetTriple(machine_->getTargetTriple());
  module_.setDataLayout(machine_->createDataLayout());
  module_.setPICLevel(llvm::PICLevel::BigPIC);
}

Backend::~Backend() = default;

bool Backend::KeptAddresses::shouldRunPass(llvm::StringRef pass, llvm::StringRef) const {
  return pass != kStrengthReduction;
}

void Backend::KeepAddresses() { context_.setOptPassGate(kept_addresses_); }

Status Backend::Optimize() {
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
  StoreSingleLanes(module_);
  return Ok();
}

Result<std::string> Backend::EmitObject() { return Emit(false); }
Result<std::string> Backend::EmitAssembly() { return Emit(true); }

Result<std::string> Backend::Emit(bool assembly) {
  llvm::SmallString<0> out;
  llvm::raw_svector_ostream stream(out);
  llvm::legacy::PassManager passes;
  const auto type =
      assembly ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile;
  if (machine_->addPassesToEmitFile(passes, stream, nullptr, type)) {
    return Internal("LLVM cannot emit code for " + machine_->getTargetTriple().str() + ".");
  }
  passes.run(module_);
  return std::string(out.str());
}

}  // namespace stoker::codegen
