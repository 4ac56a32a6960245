// Values that follow from parameters and vary over one dim alone: biases and scales.
#pragma once

#include <optional>

#include "compiler/transform/rewriter.h"

namespace stoker {

// The one-dimensional value, of size shape[dim], that `value` (of that shape) repeats along all
// other dims; nothing when it is no such value, or depends on an activation.
std::optional<ValueId> ChannelVectorOf(Rewriter& rewriter, ValueId value, int dim);

}  // namespace stoker
