// The largest error of each pointwise function that gives floats, over its whole domain.
#pragma once

#include "protocol/base/dtype.h"
#include "protocol/graph/op_kind.h"
#include "protocol/key/target.h"

namespace stoker::codegen {

// In units in the last place of the exact result, which is 2^(1 - digits) times the power of two
// below it, and no less than the least subnormal number. NaN, infinities, overflow, zeros with
// their signs and subnormal numbers are as in C's libm; bf16 results below the least normal number
// may be zero. f16 and bf16 are computed in f32 and rounded once. log_gamma has a zero between any
// two poles: of a negative x, its error is counted in the last place of log_gamma(-x) where that is
// larger.
double LargestErrorUlps(OpKind kind, DType dtype, TargetKind target = TargetKind::kCpu);

}  // namespace stoker::codegen
