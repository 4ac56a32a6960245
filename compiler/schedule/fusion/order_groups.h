// The order in which kernels are launched.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/analysis/reads.h"
#include "compiler/schedule/fusion/group.h"
#include "compiler/schedule/fusion/stored_values.h"

namespace stoker {

// Every group after those it depends on, otherwise in graph order, but that what leaves less in
// memory than there was before comes as soon as it can, what is made of inputs alone right before
// the first that waits for nothing else, and what updates an input of the graph after all that does
// not need it.
std::vector<std::uint32_t> OrderGroups(const Graph& graph, const Reads& reads,
                                       const Grouping& grouping, const StoredValues& values);

}  // namespace stoker
