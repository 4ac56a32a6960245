// The canonical form of a graph (see graph.h). Private to protocol/graph.
#pragma once

#include <vector>

#include "protocol/graph/graph.h"

namespace stoker {

// A verified graph under construction: operands precede their users.
struct GraphParts {
  std::vector<GraphInput> inputs;
  std::vector<ValueId> outputs;
  std::vector<Node> nodes;
  std::vector<Value> values;
};

// Drops dead nodes, merges equal ones, orders nodes and numbers values and symbols. Returns the
// number of symbols, or an error when a symbol is not the size of an input dimension.
Result<std::uint32_t> Canonicalize(GraphParts& parts);

}  // namespace stoker
