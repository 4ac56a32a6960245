// ChainedRows: values of rows that a reduction's own result is read back at, as in softmax and
// normalizations. One kernel computes them, while a row is in registers or near; what is reduced
// over other dims beside that, and ends there, as gradients of a scale or a bias are, reads them.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/analysis/reads.h"

namespace stoker {

class ChainedRows {
 public:
  ChainedRows(const Graph& graph, const Reads& reads);

  // Is it a reduction whose result is read at no element of its rows?
  bool Ends(NodeId node) const;
  // Is the node's result of rows other than those of `reduction`, which ends?
  bool IsOfOthers(NodeId node, NodeId reduction) const;

 private:
  // What is equal for reductions that share a kernel.
  struct Rows {
    std::vector<SymDim> extents;
    bool are_along_last_dim = false;
    friend bool operator==(const Rows&, const Rows&) = default;
  };
  struct Kind {
    Rows rows;
    std::vector<bool> feeds;    // Per node: pointwise on the way into such a reduction,
    std::vector<bool> follows;  // or on the way from one.
  };

  Rows RowsOf(NodeId reduction) const;
  std::vector<NodeId> ReadersAtRows(NodeId reduction) const;
  Kind& KindOf(const Rows& rows);
  void MarkSources(NodeId reduction, Kind& kind) const;
  void MarkReaders(std::vector<NodeId> readers, Kind& kind) const;
  bool IsPointwise(NodeId node) const;
  const SymDim& SizeOf(NodeId node) const { return sizes_[node]; }

  const Graph& graph_;
  const Reads& reads_;
  std::vector<SymDim> sizes_;     // Per node: elements of its first result.
  std::vector<bool> is_chained_;  // Per node.
  std::vector<Kind> kinds_;
};

}  // namespace stoker
