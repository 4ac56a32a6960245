#include "compiler/analysis/reads.h"

#include <algorithm>

#include "compiler/analysis/view_index.h"

namespace stoker {

bool AreReshapes(const Graph& graph, std::span<const NodeId> views) {
  return std::ranges::all_of(
      views, [&](NodeId view) { return graph.node(view).kind == OpKind::kReshape; });
}

Reads::Origin Reads::OriginOf(const Graph& graph, ValueId value) {
  Origin origin{value, {}};
  for (;;) {
    const NodeId producer = graph.value(origin.source).producer;
    if (producer == kNoNode || !IsView(graph.node(producer).kind)) return origin;
    origin.views.push_back(producer);
    origin.source = graph.node(producer).operands[0];
  }
}

Reads::Reads(const Graph& graph) : by_source_(graph.values().size()) {
  first_of_.reserve(graph.nodes().size() + 1);
  for (NodeId id = 0; id < graph.nodes().size(); ++id) {
    first_of_.push_back(static_cast<std::uint32_t>(all_.size()));
    const Node& node = graph.node(id);
    if (IsView(node.kind)) continue;
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      Origin origin = OriginOf(graph, node.operands[i]);
      by_source_[origin.source].push_back(static_cast<std::uint32_t>(all_.size()));
      all_.push_back(Read{id, static_cast<int>(i), origin.source, std::move(origin.views)});
    }
  }
  first_of_.push_back(static_cast<std::uint32_t>(all_.size()));
}

std::span<const Read> Reads::OfReader(NodeId node) const {
  return std::span(all_).subspan(first_of_[node], first_of_[node + 1] - first_of_[node]);
}

}  // namespace stoker
