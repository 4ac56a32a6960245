#include "compiler/schedule/fusion/chained_rows.h"

#include <algorithm>

#include "compiler/analysis/op_traits.h"
#include "compiler/schedule/fusion/group.h"

namespace stoker {
namespace {

// Between a reduction and where its result is read at its rows: a mean, a root, a quotient.
constexpr std::size_t kMaxBetween = 32;

bool IsReduction(const Graph& graph, NodeId node) {
  const OpKind kind = graph.node(node).kind;
  return kind == OpKind::kReduce && !ReducedExtents(graph, graph.node(node)).empty();
}

}  // namespace

ChainedRows::ChainedRows(const Graph& graph, const Reads& reads)
    : graph_(graph), reads_(reads), is_chained_(graph.nodes().size(), false) {
  for (const Node& node : graph.nodes()) {
    sizes_.push_back(graph.type(node.results[0]).shape.NumElements());
  }
  for (NodeId id = 0; id < graph.nodes().size(); ++id) {
    if (!IsReduction(graph, id)) continue;
    std::vector<NodeId> readers = ReadersAtRows(id);
    if (readers.empty()) continue;
    is_chained_[id] = true;
    Kind& kind = KindOf(RowsOf(id));
    MarkSources(id, kind);
    MarkReaders(std::move(readers), kind);
  }
}

bool ChainedRows::Ends(NodeId node) const {
  return IsReduction(graph_, node) && !is_chained_[node];
}

bool ChainedRows::IsOfOthers(NodeId node, NodeId reduction) const {
  const Rows own = RowsOf(reduction);
  return std::ranges::any_of(kinds_, [&](const Kind& kind) {
    return (kind.feeds[node] || kind.follows[node]) && kind.rows != own;
  });
}

ChainedRows::Rows ChainedRows::RowsOf(NodeId reduction) const {
  const Node& node = graph_.node(reduction);
  const Shape& shape = graph_.type(node.operands[0]).shape;
  int last = shape.rank() - 1;
  while (last > 0 && IsOne(shape[last])) --last;
  const std::vector<std::int64_t>& dims = node.attributes.Ints(AttrName::kDims);
  return {ReducedExtents(graph_, node), std::ranges::find(dims, last) != dims.end()};
}

bool ChainedRows::IsPointwise(NodeId node) const {
  return RoleOf(graph_, graph_.node(node)) == OpRole::kPointwise;
}

std::vector<NodeId> ChainedRows::ReadersAtRows(NodeId reduction) const {
  const SymDim whole = graph_.type(graph_.node(reduction).operands[0]).shape.NumElements();
  std::vector<NodeId> found;
  std::vector<NodeId> between = {reduction};
  for (std::size_t i = 0; i < between.size() && i < kMaxBetween; ++i) {
    for (const ValueId result : graph_.node(between[i]).results) {
      for (const std::uint32_t index : reads_.OfSource(result)) {
        const NodeId reader = reads_.read(index).reader;
        if (!IsPointwise(reader)) continue;
        if (SizeOf(reader) == whole) {
          found.push_back(reader);
        } else if (SizeOf(reader) == SizeOf(reduction) &&
                   std::ranges::find(between, reader) == between.end()) {
          between.push_back(reader);
        }
      }
    }
  }
  return found;
}

ChainedRows::Kind& ChainedRows::KindOf(const Rows& rows) {
  const auto found = std::ranges::find(kinds_, rows, &Kind::rows);
  if (found != kinds_.end()) return *found;
  const std::vector<bool> none(graph_.nodes().size(), false);
  return kinds_.emplace_back(Kind{rows, none, none});
}

void ChainedRows::MarkSources(NodeId reduction, Kind& kind) const {
  const SymDim whole = graph_.type(graph_.node(reduction).operands[0]).shape.NumElements();
  std::vector<NodeId> waiting = {reduction};
  while (!waiting.empty()) {
    const NodeId node = waiting.back();
    waiting.pop_back();
    for (const Read& read : reads_.OfReader(node)) {
      const NodeId source = graph_.value(read.source).producer;
      if (source == kNoNode || kind.feeds[source] || !IsPointwise(source)) continue;
      if (SizeOf(source) != whole) continue;
      kind.feeds[source] = true;
      waiting.push_back(source);
    }
  }
}

void ChainedRows::MarkReaders(std::vector<NodeId> readers, Kind& kind) const {
  while (!readers.empty()) {
    const NodeId node = readers.back();
    readers.pop_back();
    if (kind.follows[node]) continue;
    kind.follows[node] = true;
    for (const ValueId result : graph_.node(node).results) {
      for (const std::uint32_t index : reads_.OfSource(result)) {
        const NodeId reader = reads_.read(index).reader;
        if (IsPointwise(reader) && SizeOf(reader) == SizeOf(node)) readers.push_back(reader);
      }
    }
  }
}

}  // namespace stoker
