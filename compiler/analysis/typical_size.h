// What stands for a size that is not known, where something has to be chosen for all.
#pragma once

#include <cstdint>

#include "protocol/graph/graph.h"

namespace stoker {

// The size, with symbols that are typical where it has some.
std::int64_t TypicalSize(const SymDim& size);

// Of a value, in memory.
double TypicalBytes(const TensorType& type);

}  // namespace stoker
