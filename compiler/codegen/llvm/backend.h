// Backend: an LLVM module with one kernel function -> object code or assembly.
#pragma once

#include <llvm/IR/Module.h>

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
  explicit Backend(std::unique_ptr<llvm::TargetMachine> machine);
  ~Backend();

  llvm::Module& module() { return module_; }
  // Each may be called once, in this order.
  Status Optimize();
  Result<std::string> EmitObject();
  Result<std::string> EmitAssembly();

 private:
  Result<std::string> Emit(bool assembly);

  llvm::LLVMContext context_;
  std::unique_ptr<llvm::TargetMachine> machine_;
  llvm::Module module_;
};

}  // namespace stoker::codegen
