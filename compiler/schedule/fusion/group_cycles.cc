#include "compiler/schedule/fusion/group_cycles.h"

#include <algorithm>

namespace stoker {

GroupCycles::GroupCycles(const Graph& graph, const Reads& reads)
    : graph_(graph), reads_(reads), visited_(graph.nodes().size(), 0) {}

void GroupCycles::StartGroup(std::uint32_t group, NodeId node) {
  STOKER_CHECK(group == groups_.size());
  groups_.push_back({{node}, node, node});
}

void GroupCycles::Join(std::uint32_t group, NodeId node) {
  Members& members = groups_[group];
  members.nodes.push_back(node);
  members.first = std::min(members.first, node);
  members.last = std::max(members.last, node);
}

void GroupCycles::Leave(std::uint32_t group) {
  Members& members = groups_[group];
  STOKER_CHECK(members.nodes.size() > 1);
  members.nodes.pop_back();
  members.first = *std::ranges::min_element(members.nodes);
  members.last = *std::ranges::max_element(members.nodes);
}

// Edges between nodes lead to larger ids; only inside a group can a path turn back. A search can
// therefore stop at an id that no group straddles.
NodeId GroupCycles::LowerBound(std::uint32_t group) const {
  NodeId bound = groups_[group].first;
  for (bool changed = true; changed;) {
    changed = false;
    for (const Members& members : groups_) {
      if (members.first < bound && members.last >= bound) {
        bound = members.first;
        changed = true;
      }
    }
  }
  return bound;
}

NodeId GroupCycles::UpperBound(std::uint32_t group) const {
  NodeId bound = groups_[group].last;
  for (bool changed = true; changed;) {
    changed = false;
    for (const Members& members : groups_) {
      if (members.last > bound && members.first <= bound) {
        bound = members.last;
        changed = true;
      }
    }
  }
  return bound;
}

void GroupCycles::PushNeighbours(NodeId node, bool forward) {
  if (forward) {
    for (const ValueId result : graph_.node(node).results) {
      for (const std::uint32_t index : reads_.OfSource(result)) {
        stack_.push_back(reads_.read(index).reader);
      }
    }
    return;
  }
  for (const Read& read : reads_.OfReader(node)) {
    const NodeId producer = graph_.value(read.source).producer;
    if (producer != kNoNode) stack_.push_back(producer);
  }
}

bool GroupCycles::Reaches(std::uint32_t group, NodeId node,
                          const std::vector<std::uint32_t>& group_of, bool forward) {
  const NodeId bound = forward ? UpperBound(group) : LowerBound(group);
  ++search_;
  stack_.clear();
  PushNeighbours(node, forward);
  // Edges between the node and the group itself are no detour.
  std::erase_if(stack_, [&](NodeId n) { return group_of[n] == group; });
  while (!stack_.empty()) {
    const NodeId next = stack_.back();
    stack_.pop_back();
    if (group_of[next] == group) return true;
    if (visited_[next] == search_ || (forward ? next > bound : next < bound)) continue;
    visited_[next] = search_;
    if (group_of[next] == 0xffffffffU) {
      PushNeighbours(next, forward);
      continue;
    }
    for (const NodeId member : groups_[group_of[next]].nodes) {
      visited_[member] = search_;
      PushNeighbours(member, forward);
    }
  }
  return false;
}

bool GroupCycles::WouldCycle(std::uint32_t group, NodeId node,
                             const std::vector<std::uint32_t>& group_of) {
  return Reaches(group, node, group_of, false) || Reaches(group, node, group_of, true);
}

}  // namespace stoker
