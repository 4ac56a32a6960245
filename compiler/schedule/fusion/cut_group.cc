#include "compiler/schedule/fusion/cut_group.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <set>
#include <utility>

#include "compiler/analysis/op_traits.h"

namespace stoker {
namespace {

// What one value for each point weighs beside one for each row.
constexpr std::int64_t kPointsOfRow = 4096;

bool IsOfRow(const Group& group, NodeId node) {
  const std::vector<int> used = DimsOf(group.placement.at(node));
  return std::ranges::none_of(group.reduced,
                              [&](int dim) { return std::ranges::binary_search(used, dim); });
}

// Per node of the group: its last reader there, or the node itself.
std::vector<std::size_t> LastReaders(const Graph& graph, const Reads& reads, const Group& group) {
  std::vector<std::size_t> last;
  for (std::size_t i = 0; i < group.nodes.size(); ++i) {
    std::size_t reader = i;
    for (const ValueId result : graph.node(group.nodes[i]).results) {
      for (const std::uint32_t index : reads.OfSource(result)) {
        const auto at = std::ranges::lower_bound(group.nodes, reads.read(index).reader);
        if (at == group.nodes.end() || *at != reads.read(index).reader) continue;
        reader = std::max(reader, static_cast<std::size_t>(at - group.nodes.begin()));
      }
    }
    last.push_back(reader);
  }
  return last;
}

// The number of nodes of the first part: between a quarter and three quarters of them.
std::size_t FirstPart(const Graph& graph, const Reads& reads, const Group& group) {
  const std::size_t count = group.nodes.size();
  const std::vector<std::size_t> last = LastReaders(graph, reads, group);
  std::size_t best = count / 2;
  std::pair<std::int64_t, std::size_t> least = {INT64_MAX, 0};
  for (std::size_t first = std::max<std::size_t>(1, count / 4); first <= (3 * count) / 4; ++first) {
    std::int64_t crossing = 0;
    for (std::size_t i = 0; i < first; ++i) {
      if (last[i] < first) continue;
      crossing += IsOfRow(group, group.nodes[i]) && !group.reduced.empty() ? 1 : kPointsOfRow;
    }
    const std::size_t off = first > count / 2 ? first - count / 2 : count / 2 - first;
    const std::pair<std::int64_t, std::size_t> cost = {crossing, off};
    if (cost >= least) continue;
    least = cost;
    best = first;
  }
  return best;
}

// Takes out of the space what no node of the group has: rows that it neither reduces nor computes.
void DropRows(const Graph& graph, Group& group) {
  const bool has_rows = std::ranges::any_of(group.nodes, [&](NodeId node) {
    return RoleOf(graph, graph.node(node)) == OpRole::kReduce || !IsOfRow(group, node);
  });
  if (has_rows || group.reduced.empty()) return;
  std::vector<SymDim> extents = group.space.extents();
  for (const int dim : group.reduced) extents[static_cast<std::size_t>(dim)] = 1;
  group.space = IndexSpace(std::move(extents));
  group.reduced.clear();
  group.reduced_index.clear();
}

}  // namespace

bool CutGroup(const Graph& graph, const Reads& reads, std::uint32_t id, Grouping& grouping) {
  Group& group = grouping.groups[id];
  if (group.kind != GroupKind::kLoop || group.nodes.size() < 2) return false;
  const auto cut =
      group.nodes.begin() + static_cast<std::ptrdiff_t>(FirstPart(graph, reads, group));
  Group later = group;
  later.nodes.assign(cut, group.nodes.end());
  group.nodes.erase(cut, group.nodes.end());
  const auto number = static_cast<std::uint32_t>(grouping.groups.size());
  for (const NodeId node : later.nodes) {
    group.placement.erase(node);
    grouping.group_of[node] = number;
    for (FusionDecision& decision : grouping.decisions) {
      const bool crosses = std::ranges::binary_search(group.nodes, decision.neighbour) ||
                           std::ranges::binary_search(group.nodes, decision.node);
      if ((decision.node != node && decision.neighbour != node) || !crosses) continue;
      decision.joined = false;
      decision.why = "together they are too much for one kernel";
    }
  }
  for (const NodeId node : group.nodes) later.placement.erase(node);
  for (Group* part : {&group, &later}) {
    part->hero = part->nodes.back();
    DropRows(graph, *part);
  }
  grouping.groups.push_back(std::move(later));
  return true;
}

}  // namespace stoker
