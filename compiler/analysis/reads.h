// Reads: who reads which computed value, looking through views.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "protocol/graph/graph.h"

namespace stoker {

// `reader` reads `source`, which is not the result of a view, as its operand `operand`.
struct Read {
  NodeId reader = kNoNode;
  int operand = 0;
  ValueId source = 0;
  std::vector<NodeId> views;  // Between them, from the reader's side to the source's.
};

// Each is the same row-major bytes as the next.
bool AreReshapes(const Graph& graph, std::span<const NodeId> views);

class Reads {
 public:
  explicit Reads(const Graph& graph);

  // Of a node that is not a view, in operand order.
  std::span<const Read> OfReader(NodeId node) const;
  // Indices into all(), in the order of the readers.
  const std::vector<std::uint32_t>& OfSource(ValueId value) const { return by_source_[value]; }
  const Read& read(std::uint32_t index) const { return all_[index]; }

  // What `value` looks at.
  struct Origin {
    ValueId source = 0;
    std::vector<NodeId> views;  // From `value` to the source.
  };
  static Origin OriginOf(const Graph& graph, ValueId value);

 private:
  std::vector<Read> all_;                // By reader, then operand.
  std::vector<std::uint32_t> first_of_;  // Per node, into all_; one more at the end.
  std::vector<std::vector<std::uint32_t>> by_source_;
};

}  // namespace stoker
