#include "compiler/schedule/fusion/order_groups.h"

#include <functional>
#include <queue>
#include <set>
#include <tuple>

namespace stoker {
namespace {

// Per group: whether it makes an output that updates an input, or what such a scatter starts from.
std::vector<bool> FindUpdating(const Graph& graph, const Grouping& grouping) {
  std::vector<bool> updates(grouping.groups.size(), false);
  for (const InputUpdate& update : graph.updates()) {
    for (ValueId at = graph.outputs()[update.output];;) {
      const ValueId source = Reads::OriginOf(graph, at).source;
      const NodeId producer = graph.value(source).producer;
      if (producer == kNoNode || grouping.group_of[producer] == kNoGroup) break;
      updates[grouping.group_of[producer]] = true;
      if (graph.node(producer).kind != OpKind::kScatter) break;
      at = graph.node(producer).operands[0];
    }
  }
  return updates;
}

}  // namespace

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
  // A group is as early as its last node: what it computes early for others waits in memory. But
  // before an input changes comes all that may: it may read the input, or fail.
  const std::vector<bool> updates = FindUpdating(graph, grouping);
  using Entry = std::tuple<bool, NodeId, std::uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  const auto push = [&](std::uint32_t group) {
    ready.push({updates[group], grouping.groups[group].nodes.back(), group});
  };
  for (std::uint32_t group = 0; group < count; ++group) {
    if (waits_for[group] == 0) push(group);
  }
  std::vector<std::uint32_t> order;
  while (!ready.empty()) {
    const std::uint32_t group = std::get<2>(ready.top());
    ready.pop();
    order.push_back(group);
    for (const std::uint32_t reader : readers[group]) {
      if (--waits_for[reader] == 0) push(reader);
    }
  }
  STOKER_CHECK(order.size() == count);  // Fusion keeps groups acyclic.
  return order;
}

}  // namespace stoker
