#include "compiler/schedule/fusion/order_groups.h"

#include <functional>
#include <queue>
#include <set>
#include <utility>

namespace stoker {

std::vector<std::uint32_t> OrderGroups(const Graph& graph, const Reads& reads,
                                       const Grouping& grouping) {
  const std::size_t count = grouping.groups.size();
  std::vector<std::set<std::uint32_t>> readers(count);
  std::vector<std::size_t> waits_for(count, 0);
  for (std::uint32_t group = 0; group < count; ++group) {
    for (const NodeId node : grouping.groups[group].nodes) {
      for (const Read& read : reads.OfReader(node)) {
        const NodeId producer = graph.value(read.source).producer;
        if (producer == kNoNode) continue;
        const std::uint32_t from = grouping.group_of[producer];
        if (from == kNoGroup || from == group) continue;
        if (readers[from].insert(group).second) ++waits_for[group];
      }
    }
  }
  // A group is as early as its last node: what it computes early for others waits in memory.
  using Entry = std::pair<NodeId, std::uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (std::uint32_t group = 0; group < count; ++group) {
    if (waits_for[group] == 0) ready.push({grouping.groups[group].nodes.back(), group});
  }
  std::vector<std::uint32_t> order;
  while (!ready.empty()) {
    const std::uint32_t group = ready.top().second;
    ready.pop();
    order.push_back(group);
    for (const std::uint32_t reader : readers[group]) {
      if (--waits_for[reader] == 0) ready.push({grouping.groups[reader].nodes.back(), reader});
    }
  }
  STOKER_CHECK(order.size() == count);  // Fusion keeps groups acyclic.
  return order;
}

}  // namespace stoker
