// Backend: an LLVM module with one kernel function -> object code or assembly.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/IR/OptBisect.h>

#include <memory>
#include <string>

#include "protocol/base/result.h"

namespace llvm {
class TargetMachine;
}

namespace stoker::codegen {

// One compile's LLVM state. Not thread-safe; make one per compile.
class Backend {
 public:
  // `machine` is shared by the compiles of one thread, one after another: it takes long to make.
  explicit Backend(std::shared_ptr<llvm::TargetMachine> machine);
  ~Backend();

  llvm::Module& module() { return module_; }
  // Leaves out LLVM's strength reduction of loops, a third of the time: it gains nothing where the
  // emitter's addresses are a pointer that moves and constants.
  void KeepAddresses();
  // Each may be called once, in this order.
  Status Optimize();
  Result<std::string> EmitObject();
  Result<std::string> EmitAssembly();

 private:
  class KeptAddresses final : public llvm::OptPassGate {
   public:
    bool shouldRunPass(llvm::StringRef pass, llvm::StringRef unit) const override;
    bool isEnabled() const override { return true; }
  };

  Result<std::string> Emit(bool assembly);

  KeptAddresses kept_addresses_;
  llvm::LLVMContext context_;
  std::shared_ptr<llvm::TargetMachine> machine_;
  llvm::Module module_;
};

}  // namespace stoker::codegen
