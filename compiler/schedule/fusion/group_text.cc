#include "compiler/ir/text.h"
#include "compiler/schedule/fusion/group.h"

namespace stoker {
namespace {

const char* Name(GroupKind kind) {
  switch (kind) {
    case GroupKind::kLoop:
      return "loop";
    case GroupKind::kContraction:
      return "contraction";
    case GroupKind::kAttention:
      return "attention";
    case GroupKind::kOrdered:
      return "ordered";
    case GroupKind::kHost:
      return "host";
    case GroupKind::kWhile:
      return "while";
  }
  return "";
}

std::string NodeText(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  std::string text;
  for (const ValueId result : node.results) {
    text += (text.empty() ? "%" : ", %") + std::to_string(result);
  }
  text += " = " + std::string(Name(node.kind));
  return text + " : " + graph.type(node.results[0]).ToString();
}

std::string HeadText(const Group& group) {
  std::string text = Name(group.kind);
  if (group.space.rank() > 0) text += " over " + ListText(group.space.extents());
  if (!group.reduced.empty()) text += " reduced " + ListText(group.reduced);
  if (group.prepared) text += " prepared";
  return text;
}

}  // namespace

std::string ToString(const Grouping& grouping, const Graph& graph) {
  std::string text;
  for (std::size_t i = 0; i < grouping.groups.size(); ++i) {
    const Group& group = grouping.groups[i];
    text += "group " + std::to_string(i) + " " + HeadText(group) + "\n";
    for (const NodeId node : group.nodes) {
      text += "  " + NodeText(graph, node) + (node == group.hero ? "  # first\n" : "\n");
    }
  }
  text += "decisions\n";
  for (const FusionDecision& decision : grouping.decisions) {
    text += std::string("  ") + (decision.joined ? "joined  " : "refused ") +
            NodeText(graph, decision.node) + "  with %" +
            std::to_string(graph.node(decision.neighbour).results[0]) + ": " + decision.why + "\n";
  }
  return text;
}

}  // namespace stoker
