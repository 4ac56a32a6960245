// Kernels that are not generated yet.
#include "compiler/codegen/emit_kernels.h"

namespace stoker::codegen {

#define STOKER_UNLANDED(Kind)                                                 \
  Status Emit##Kind(const Kind##Func&, const Target&, llvm::Module&) {        \
    return Unimplemented(#Kind " kernels are not generated.");                \
  }                                                                           \
  Result<LaunchShape> LaunchShapeOf##Kind(const Kind##Func&, const Target&) { \
    return Unimplemented(#Kind " kernels are not generated.");                \
  }

STOKER_UNLANDED(Attention)
STOKER_UNLANDED(Scan)
STOKER_UNLANDED(Sort)
STOKER_UNLANDED(Scatter)

}  // namespace stoker::codegen
