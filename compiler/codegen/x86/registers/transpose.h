// Square transposition in registers.
#pragma once

#include "compiler/codegen/llvm/emitter.h"

namespace stoker::codegen {

// Replaces `rows`, W vectors of W lanes (W a power of two), with its columns.
void Transpose(KernelEmitter& emitter, Values& rows);

}  // namespace stoker::codegen
