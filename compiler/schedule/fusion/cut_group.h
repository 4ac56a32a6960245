// Groups that are too much for one kernel.
#pragma once

#include "compiler/analysis/reads.h"
#include "compiler/schedule/fusion/group.h"

namespace stoker {

// Makes two groups of a loop group: the later nodes, in graph order, become the last group of
// `grouping`, and read from memory what they need of the others. They are cut near the middle,
// where the fewest values cross. False, and nothing is changed, where there is nothing to cut.
[[nodiscard]] bool CutGroup(const Graph& graph, const Reads& reads, std::uint32_t group,
                            Grouping& grouping);

}  // namespace stoker
