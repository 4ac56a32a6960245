// Region: a graph that a node of another graph runs, as the value of an attribute. It sees nothing
// but its inputs: what it needs from outside is an operand of the node.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "protocol/base/result.h"
#include "protocol/graph/dim/sym_dim.h"
#include "protocol/graph/tensor_type.h"

namespace stoker {

class Graph;

// How deep graphs nest: a node of a region may have regions.
inline constexpr int kMaxRegionDepth = 8;

class Region {
 public:
  explicit Region(Graph graph);

  const Graph& graph() const { return *graph_; }
  friend bool operator==(const Region& a, const Region& b);  // Names do not count.

 private:
  std::shared_ptr<const Graph> graph_;  // Shared: graphs are immutable, attributes copied freely.
};

// What the region's symbols are outside, given the types of what its inputs are there. They are
// checked: the message says which input is of another type. Its inputs are activations, none of
// which is updated.
Result<std::map<std::uint32_t, SymDim>> BindRegion(const Graph& region,
                                                   std::span<const TensorType> operands);
// What a scan with these operands gives its body: the first `carried`, a row of each of the
// `scanned` that follow, the others. Requires so many operands, and ranks of at least 1.
std::vector<TensorType> ScanBodyTypes(std::span<const TensorType> operands, std::size_t carried,
                                      std::size_t scanned);
// A type of the region, outside.
TensorType TypeOutside(const TensorType& type, const std::map<std::uint32_t, SymDim>& symbols);

}  // namespace stoker
