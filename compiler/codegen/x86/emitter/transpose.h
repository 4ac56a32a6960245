// Square transposition in registers.
#pragma once

#include "compiler/codegen/x86/emitter/x86_emitter.h"

namespace stoker::codegen {

// Replaces `rows`, W vectors of W lanes (W a power of two), with its columns.
void Transpose(X86Emitter& emitter, Values& rows);

}  // namespace stoker::codegen
