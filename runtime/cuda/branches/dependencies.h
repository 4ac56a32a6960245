// Which works must be in order: those of which one writes where the other reads or writes.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/cuda/branches/work.h"

namespace stoker::cuda {

// Of each work earlier ones that it must come after, ascending: with those that these come after,
// all that touch the same memory, unless both only read there, and all that a barrier keeps apart.
std::vector<std::vector<std::size_t>> DependenciesOf(std::span<const Work> works);

}  // namespace stoker::cuda
