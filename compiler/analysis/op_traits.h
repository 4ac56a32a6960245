// What the scheduler needs to know of each op.
#pragma once

#include "protocol/graph/graph.h"

namespace stoker {

// How an op can take part in a kernel.
enum class OpRole {
  kView,         // Costs nothing: an index map (view_index.h).
  kVirtual,      // Has no memory unless somebody needs its address: constant, iota.
  kPointwise,    // Operands are read at the point of the result.
  kAssemble,     // Operands are read at other points, some not at all: pad, concatenate.
  kIndexed,      // Reads at data-dependent points: gather, dynamic_slice, dynamic_update_slice.
  kReduce,       // reduce, arg_reduce, reduce_window, and small grouped convolutions.
  kContraction,  // dot_general, convolution.
  kAttention,
  kOrdered,  // A kernel of its own: cumulative, sort, top_k, scatter.
  kExtern,
};

OpRole RoleOf(const Graph& graph, const Node& node);

// Whether `node` reads operand `operand` through its address, so that it must be in memory, rather
// than value by value.
bool ReadsThroughAddress(const Graph& graph, const Node& node, int operand);

// Rough cost of one element, in units of an addition.
int CostOf(const Node& node);

}  // namespace stoker
