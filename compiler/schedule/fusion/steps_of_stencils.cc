#include "compiler/schedule/fusion/steps_of_stencils.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>

#include "compiler/analysis/op_traits.h"

namespace stoker {
namespace {

// So many kernels are looked at as neighbours of one.
constexpr std::size_t kMaxNeighbours = 8;

bool PutsTogether(const Graph& graph, NodeId node) {
  return RoleOf(graph, graph.node(node)) == OpRole::kAssemble;
}

SymDim PointsOf(const Group& group) {
  SymDim points = 1;
  for (const SymDim& extent : group.space.extents()) points = points * extent;
  return points;
}

class Fields {
 public:
  Fields(const Graph& graph, const Reads& reads, const FusionLimits& limits, GroupCycles& cycles,
         Grouping& grouping)
      : graph_(graph), reads_(reads), limits_(limits), cycles_(cycles), grouping_(grouping) {}

  void Join() &&;

 private:
  // What a group of a stencil reads of others, of as many elements as it has points; of other
  // groups nothing.
  std::set<ValueId> SourcesOf(const Group& group) const;
  bool AreFieldsOfOneStep(std::uint32_t a, std::uint32_t b) const;
  bool Reads(const Group& reader, std::uint32_t source) const;
  bool MayJoin(std::uint32_t group, std::uint32_t other);
  void Merge(std::uint32_t group, std::uint32_t other);
  void DropEmpty();

  const Graph& graph_;
  const stoker::Reads& reads_;
  const FusionLimits& limits_;
  GroupCycles& cycles_;
  Grouping& grouping_;
  std::vector<std::set<ValueId>> sources_;  // Per group.
};

std::set<ValueId> Fields::SourcesOf(const Group& group) const {
  std::set<ValueId> sources;
  const auto puts_together = [&](NodeId node) { return PutsTogether(graph_, node); };
  if (group.kind != GroupKind::kLoop || !group.reduced.empty() ||
      std::ranges::none_of(group.nodes, puts_together)) {
    return sources;
  }
  const SymDim points = PointsOf(group);
  for (const NodeId node : group.nodes) {
    for (const Read& read : reads_.OfReader(node)) {
      const NodeId producer = graph_.value(read.source).producer;
      if (producer != kNoNode && group.Contains(producer)) continue;
      if (graph_.type(read.source).shape.NumElements() == points) sources.insert(read.source);
    }
  }
  return sources;
}

bool Fields::AreFieldsOfOneStep(std::uint32_t a, std::uint32_t b) const {
  const std::set<ValueId>& some = sources_[a];
  const std::set<ValueId>& others = sources_[b];
  const auto shared = static_cast<std::size_t>(
      std::ranges::count_if(some, [&](ValueId value) { return others.contains(value); }));
  return shared > 0 && 2 * shared >= std::min(some.size(), others.size());
}

bool Fields::Reads(const Group& reader, std::uint32_t source) const {
  return std::ranges::any_of(reader.nodes, [&](NodeId node) {
    return std::ranges::any_of(reads_.OfReader(node), [&](const Read& read) {
      const NodeId producer = graph_.value(read.source).producer;
      return producer != kNoNode && grouping_.group_of[producer] == source;
    });
  });
}

bool Fields::MayJoin(std::uint32_t group, std::uint32_t other) {
  const Group& one = grouping_.groups[group];
  const Group& two = grouping_.groups[other];
  if (one.prepared != two.prepared || one.space.extents() != two.space.extents() ||
      one.nodes.size() + two.nodes.size() > limits_.max_group_nodes || Reads(one, other) ||
      Reads(two, group)) {
    return false;
  }
  return std::ranges::none_of(
      two.nodes, [&](NodeId node) { return cycles_.WouldCycle(group, node, grouping_.group_of); });
}

void Fields::Merge(std::uint32_t group, std::uint32_t other) {
  Group& one = grouping_.groups[group];
  Group& two = grouping_.groups[other];
  for (const NodeId node : two.nodes) {
    one.nodes.push_back(node);
    grouping_.group_of[node] = group;
    cycles_.Join(group, node);
  }
  one.placement.merge(two.placement);
  sources_[group].merge(sources_[other]);
  grouping_.decisions.push_back({two.hero, one.hero, true, "is a field of the same step"});
  two.nodes.clear();
  sources_[other].clear();
}

void Fields::DropEmpty() {
  std::vector<std::uint32_t> number(grouping_.groups.size(), kNoGroup);
  std::vector<Group> kept;
  for (std::size_t i = 0; i < grouping_.groups.size(); ++i) {
    if (grouping_.groups[i].nodes.empty()) continue;
    number[i] = static_cast<std::uint32_t>(kept.size());
    kept.push_back(std::move(grouping_.groups[i]));
  }
  grouping_.groups = std::move(kept);
  for (std::uint32_t& group : grouping_.group_of) {
    if (group != kNoGroup) group = number[group];
  }
}

void Fields::Join() && {
  std::vector<std::uint32_t> stencils;
  for (std::size_t i = 0; i < grouping_.groups.size(); ++i) {
    sources_.push_back(SourcesOf(grouping_.groups[i]));
    if (!sources_.back().empty()) stencils.push_back(static_cast<std::uint32_t>(i));
  }
  for (std::size_t i = 0; i < stencils.size(); ++i) {
    if (sources_[stencils[i]].empty()) continue;
    const std::size_t end = std::min(stencils.size(), i + 1 + kMaxNeighbours);
    for (std::size_t j = i + 1; j < end; ++j) {
      if (AreFieldsOfOneStep(stencils[i], stencils[j]) && MayJoin(stencils[i], stencils[j])) {
        Merge(stencils[i], stencils[j]);
      }
    }
  }
  DropEmpty();
}

}  // namespace

StepsOfStencils::StepsOfStencils(const Graph& graph, const Reads& reads)
    : graph_(graph), reads_(reads), step_of_(graph.nodes().size(), 0) {
  for (NodeId id = 0; id < graph.nodes().size(); ++id) {
    for (const ValueId operand : graph.node(id).operands) {
      const NodeId producer = graph.value(operand).producer;
      if (producer != kNoNode) step_of_[id] = std::max(step_of_[id], step_of_[producer]);
    }
    step_of_[id] += PutsTogether(graph, id) ? 1 : 0;
  }
}

bool StepsOfStencils::IsOfEarlierStep(NodeId node, NodeId hero) const {
  if (step_of_[node] == 0 || step_of_[node] >= step_of_[hero]) return false;
  for (const ValueId result : graph_.node(node).results) {
    for (const std::uint32_t index : reads_.OfSource(result)) {
      const NodeId reader = reads_.read(index).reader;
      if (PutsTogether(graph_, reader) && !Follows(hero, reader)) return true;
    }
  }
  return false;
}

// Operands come before who reads them.
bool StepsOfStencils::Follows(NodeId node, NodeId from) const {
  std::set<NodeId> ahead{node};
  while (!ahead.empty()) {
    const NodeId last = *ahead.rbegin();
    ahead.erase(last);
    if (last == from) return true;
    for (const ValueId operand : graph_.node(last).operands) {
      const NodeId producer = graph_.value(operand).producer;
      if (producer != kNoNode && producer >= from) ahead.insert(producer);
    }
  }
  return false;
}

void JoinFieldsOfSteps(const Graph& graph, const Reads& reads, const FusionLimits& limits,
                       GroupCycles& cycles, Grouping& grouping) {
  Fields(graph, reads, limits, cycles, grouping).Join();
}

}  // namespace stoker
