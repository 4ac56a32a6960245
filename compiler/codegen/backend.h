// Backend: an LLVM module with one kernel function -> machine code in a shared object.
#pragma once

#include <llvm/IR/Module.h>

#include <memory>
#include <string>

#include "compiler/codegen/machine.h"

namespace stoker::codegen {

// One compile's LLVM state. Not thread-safe; make one per compile.
class Backend {
 public:
  static Result<std::unique_ptr<Backend>> Create(const Machine& machine);
  virtual ~Backend() = default;

  virtual llvm::Module& module() = 0;
  // Each may be called once, in this order.
  virtual Status Optimize() = 0;
  virtual Result<std::string> EmitObject() = 0;  // A relocatable ELF object.
  virtual Result<std::string> EmitAssembly() = 0;
};

}  // namespace stoker::codegen
