// What kernels are compiled for that run on this processor.
#pragma once

#include <optional>

#include "protocol/base/result.h"
#include "protocol/key/target.h"

namespace stoker {

// What STOKER_TARGET names; none where it is unset: for all that this processor can do.
// InvalidArgument, with its value, where it names no processors.
Result<std::optional<Target>> NamedProcessorTarget();

}  // namespace stoker
