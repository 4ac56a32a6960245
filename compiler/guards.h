// The conditions under which a compiled graph may run.
#pragma once

#include "protocol/graph/graph.h"
#include "protocol/guard/guard_set.h"
#include "protocol/guard/shape_signature.h"

namespace stoker {

// dtype, rank, row-major strides and sizes of every input; symbols are bound at the first dim that
// is one alone, and held to the facts of the signature. Unimplemented when a symbol is no dim of
// its own in any input.
Result<GuardSet> GuardsOf(const Graph& graph, const ShapeSignature& signature);

}  // namespace stoker
