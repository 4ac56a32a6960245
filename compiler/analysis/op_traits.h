// What the scheduler needs to know of a node, beside its op's row.
#pragma once

#include "protocol/graph/graph.h"
#include "protocol/graph/op_table.h"

namespace stoker {

// The role in the op's row, but for convolutions that are better loops: kReduce.
OpRole RoleOf(const Graph& graph, const Node& node);

// Whether `node` reads operand `operand` through its address, so that it must be in memory, rather
// than value by value.
bool ReadsThroughAddress(const Graph& graph, const Node& node, int operand);

// Rough cost of one element, in units of an addition.
int CostOf(OpKind kind);
inline int CostOf(const Node& node) { return CostOf(node.kind); }

}  // namespace stoker
