// What a core of this processor can do at most: loops over registers alone.
#pragma once

#include "protocol/base/dtype.h"
#include "protocol/key/target.h"

namespace stoker {

// Floating-point operations per nanosecond of one core: f32 multiply-adds, or for bf16 the fastest
// way that `target` has. Takes well under a millisecond.
double PeakGflops(DType dtype, const Target& target);

// Seconds of processor time of the calling thread: others that share the machine do not show.
double ThreadSeconds();

}  // namespace stoker
