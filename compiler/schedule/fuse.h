// Fusion: which nodes become one kernel.
#pragma once

#include <vector>

#include "compiler/analysis/reads.h"
#include "compiler/schedule/group.h"
#include "protocol/base/result.h"

namespace stoker {

// More nodes than this in one kernel cost more compile time than they save.
inline constexpr std::size_t kMaxGroupNodes = 256;
// A reduction over at least this many elements is not joined with what it reads or feeds when all
// its rows together keep only one thread busy.
inline constexpr std::int64_t kMinSplitElements = 1 << 18;

// Greedy. Contractions first, in graph order: each takes the pointwise nodes that follow it, since
// an epilogue saves a pass over memory. Then loops, from the outputs backwards: each takes, as long
// as its kernel computes them at the very point where they are needed, its producers (what others
// read of them is stored beside) and its consumers. Views are nobody's members.
// `prepared`: see FindPrepared; a group never mixes what is prepared with what is not.
Grouping FuseNodes(const Graph& graph, const Reads& reads, const std::vector<bool>& prepared);

}  // namespace stoker
