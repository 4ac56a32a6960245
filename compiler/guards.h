// The conditions under which a compiled graph may run.
#pragma once

#include "protocol/graph/graph.h"
#include "protocol/guard/guard_set.h"

namespace stoker {

// dtype, rank, row-major strides and sizes of every input; symbols are bound at the first dim that
// is one alone, and held to the graph's conditions. Unimplemented where one of these has too many
// terms.
Result<GuardSet> GuardsOf(const Graph& graph);

}  // namespace stoker
