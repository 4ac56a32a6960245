// rng_bit_generator as arithmetic: every element follows from the state and its own number,
// whatever lane, thread or device computes it.
#pragma once

#include "compiler/transform/rewriter.h"

namespace stoker {

// Its results: the state after so many bits, and the bits.
ValueId StateAfter(Rewriter& rewriter, ValueId state, const TensorType& bits);
ValueId RandomBits(Rewriter& rewriter, ValueId state, const TensorType& bits);

}  // namespace stoker
