// What a core of this processor can do at most: loops over registers alone.
#pragma once

#include "protocol/base/dtype.h"
#include "protocol/key/target.h"

namespace stoker {

// Floating-point operations per nanosecond of one core, the fastest way that `target` has: for f32
// multiply-adds, or six products of bf16 parts on AMX. Takes well under a millisecond.
double PeakGflops(DType dtype, const Target& target);

// Seconds of processor time of the calling thread: others that share the machine do not show.
double ThreadSeconds();

}  // namespace stoker
