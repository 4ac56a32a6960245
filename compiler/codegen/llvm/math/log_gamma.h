// The logarithm of the gamma function's size, on lanes of f64.
#pragma once

#include "compiler/codegen/llvm/math/exp_log.h"

namespace stoker::codegen {

class LogGammaLanes : public ExpLog {
 public:
  using ExpLog::ExpLog;

  Value* LogGamma(Value* x);

 private:
  Value* Above(Value* x);
  Value* Reflected(Value* x, Value* above);
};

}  // namespace stoker::codegen
