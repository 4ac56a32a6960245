// Verification: whether what an executable gave is what the reference interpreter gives.
#pragma once

#include <cstddef>

#include "protocol/base/result.h"
#include "protocol/graph/interpret/interpreter.h"
#include "protocol/key/compile_options.h"

namespace stoker {

// Refuses an output that, as a whole, is further from the interpreter's than rounding in its dtype
// and under these numerics makes plausible, or has an element that is further still: Internal, with
// output, element, both values and the tolerance. Integers and bool must be equal.
Status VerifyOutput(std::size_t output, const InterpreterTensor& actual,
                    const InterpreterTensor& expected, Numerics numerics = Numerics::kHighest);

}  // namespace stoker
