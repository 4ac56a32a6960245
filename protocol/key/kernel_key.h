// KernelKey: the name of one compiled function before it is compiled.
#pragma once

#include <string_view>

#include "protocol/base/digest.h"
#include "protocol/key/target.h"

namespace stoker {

// `loop_ir`: the canonical text of the LoopFunc with everything in it that code generation reads
// (schedule, numerics); names and source positions must not be in it. Kernels with equal keys are
// interchangeable, whatever graph they came from.
Digest KernelKeyOf(std::string_view loop_ir, const Target& target, std::string_view compiler_epoch);

}  // namespace stoker
