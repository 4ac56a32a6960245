// What a library computes along with a matrix product (see MatmulOf): a chain of nodes that follows
// it, each of which reads the one before and is all that does.
#pragma once

#include "compiler/analysis/reads.h"
#include "compiler/schedule/fusion/group.h"

namespace stoker {

// nullptr: `node`, at `placement`, may be the next of the chain of `group`. Otherwise why not.
const char* RefusalOfLibrary(const Graph& graph, const Reads& reads, const Group& group,
                             NodeId node, const ElementIndex& placement);

// nullptr: the chain may end where it does. Otherwise why its last node is better left to what
// reads it.
const char* RefusalOfLast(const Graph& graph, const Reads& reads, const Group& group);

}  // namespace stoker
