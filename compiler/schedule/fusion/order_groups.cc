#include "compiler/schedule/fusion/order_groups.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "compiler/analysis/typical_size.h"

namespace stoker {
namespace {

// What makes so many times less than its part of what it frees together with others makes little.
constexpr double kLittle = 8;

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

class Ordering {
 public:
  Ordering(const Graph& graph, const Reads& reads, const Grouping& grouping,
           const StoredValues& values)
      : graph_(graph),
        reads_(reads),
        grouping_(grouping),
        values_(values),
        updates_(FindUpdating(graph, grouping)),
        readers_(grouping.groups.size()),
        sources_(grouping.groups.size()),
        waits_for_(grouping.groups.size(), 0),
        is_late_(grouping.groups.size(), false),
        needs_(grouping.groups.size()),
        made_(grouping.groups.size(), 0),
        readers_left_(graph.values().size(), 0) {}

  std::vector<std::uint32_t> Run() &&;

 private:
  // What is there for the graph's own launches alone, and as long as they need it.
  bool IsKept(ValueId value) const;
  void FindNeeds(std::uint32_t group, ValueId value);
  void FindEdges();
  void FindMemory();
  void FindLate();
  // Once a group waits for nothing but late ones, these come.
  void AskForLate(std::uint32_t reader);
  void AskForAll();
  // Is less in memory once the group has run, or once others have that read the same?
  bool LeavesLess(std::uint32_t group) const;
  void Push(std::uint32_t group) {
    ready_.insert({updates_[group], grouping_.groups[group].nodes.back(), group});
  }
  std::uint32_t Pop();

  const Graph& graph_;
  const Reads& reads_;
  const Grouping& grouping_;
  const StoredValues& values_;
  const std::vector<bool> updates_;
  std::vector<std::set<std::uint32_t>> readers_;     // Per group: those that wait for it.
  std::vector<std::vector<std::uint32_t>> sources_;  // Per group: those that it waits for,
  std::vector<std::size_t> waits_for_;               // and how many of them have not run.
  // Per group: it is computed from inputs alone, frees nothing, and nobody has asked for it yet. A
  // backward pass has many such: what each layer kept, converted or scaled again.
  std::vector<bool> is_late_;
  std::vector<std::set<ValueId>> needs_;   // Per group: of what is kept, what it reads,
  std::vector<double> made_;               // and bytes of it that it makes.
  std::vector<std::size_t> readers_left_;  // Per value: groups that need it and have not run.
  std::vector<bool> is_output_;
  // A group is as early as its last node: what it computes early for others waits in memory. But
  // before an input changes comes all that may: it may read the input, or fail.
  std::set<std::tuple<bool, NodeId, std::uint32_t>> ready_;
};

std::vector<std::uint32_t> Ordering::Run() && {
  FindEdges();
  FindMemory();
  FindLate();
  const auto count = static_cast<std::uint32_t>(grouping_.groups.size());
  for (std::uint32_t group = 0; group < count; ++group) {
    if (waits_for_[group] == 0 && !is_late_[group]) Push(group);
    AskForLate(group);
  }
  std::vector<std::uint32_t> order;
  while (!ready_.empty()) {
    order.push_back(Pop());
    for (const ValueId value : needs_[order.back()]) --readers_left_[value];
    for (const std::uint32_t reader : readers_[order.back()]) {
      if (--waits_for_[reader] == 0) Push(reader);
      AskForLate(reader);
    }
  }
  STOKER_CHECK(order.size() == count);  // Fusion keeps groups acyclic.
  return order;
}

void Ordering::FindLate() {
  for (std::uint32_t group = 0; group < is_late_.size(); ++group) {
    is_late_[group] = grouping_.groups[group].kind == GroupKind::kLoop && made_[group] > 0 &&
                      waits_for_[group] == 0 && !updates_[group] && !readers_[group].empty();
  }
}

void Ordering::AskForLate(std::uint32_t reader) {
  const auto is_late = [&](std::uint32_t source) { return is_late_[source]; };
  const auto late = std::ranges::count_if(sources_[reader], is_late);
  if (late == 0 || std::cmp_less(late, waits_for_[reader])) return;
  for (const std::uint32_t source : sources_[reader]) {
    if (!is_late_[source]) continue;
    is_late_[source] = false;
    Push(source);
  }
}

void Ordering::AskForAll() {
  for (std::uint32_t group = 0; group < is_late_.size(); ++group) {
    if (is_late_[group]) Push(group);
    is_late_[group] = false;
  }
}

std::uint32_t Ordering::Pop() {
  if (std::get<0>(*ready_.begin())) AskForAll();
  auto chosen = std::ranges::find_if(ready_, [&](const auto& entry) {
    return !std::get<0>(entry) && LeavesLess(std::get<2>(entry));
  });
  if (chosen == ready_.end()) chosen = ready_.begin();
  const std::uint32_t group = std::get<2>(*chosen);
  ready_.erase(chosen);
  return group;
}

void Ordering::FindEdges() {
  for (std::uint32_t group = 0; group < grouping_.groups.size(); ++group) {
    for (const NodeId node : grouping_.groups[group].nodes) {
      for (const Read& read : reads_.OfReader(node)) {
        const NodeId producer = graph_.value(read.source).producer;
        if (producer == kNoNode) continue;
        const std::uint32_t from = grouping_.group_of[producer];
        if (from == kNoGroup || from == group) continue;
        if (readers_[from].insert(group).second) {
          ++waits_for_[group];
          sources_[group].push_back(from);
        }
        FindNeeds(group, read.source);
      }
    }
  }
}

bool Ordering::IsKept(ValueId value) const {
  const NodeId producer = graph_.value(value).producer;
  if (producer == kNoNode || is_output_[value]) return false;
  const std::uint32_t group = grouping_.group_of[producer];
  return group != kNoGroup && !grouping_.groups[group].prepared;
}

// What is not in memory is computed again from what is.
void Ordering::FindNeeds(std::uint32_t group, ValueId value) {
  if (needs_[group].contains(value)) return;
  const NodeId producer = graph_.value(value).producer;
  if (producer == kNoNode || grouping_.group_of[producer] == kNoGroup) return;
  needs_[group].insert(value);
  if (values_.stored[value]) return;
  for (const Read& read : reads_.OfReader(producer)) FindNeeds(group, read.source);
}

void Ordering::FindMemory() {
  is_output_.assign(graph_.values().size(), false);
  for (const ValueId output : graph_.outputs()) {
    const ValueId source = Reads::OriginOf(graph_, output).source;  // A part of it is copied.
    if (TypicalBytes(graph_.type(source)) <= TypicalBytes(graph_.type(output))) {
      is_output_[source] = true;
    }
  }
  for (std::uint32_t group = 0; group < grouping_.groups.size(); ++group) {
    std::erase_if(needs_[group],
                  [&](ValueId value) { return !values_.stored[value] || !IsKept(value); });
    for (const ValueId value : needs_[group]) ++readers_left_[value];
  }
  for (ValueId value = 0; value < readers_left_.size(); ++value) {
    if (!values_.stored[value] || !IsKept(value)) continue;
    made_[grouping_.group_of[graph_.value(value).producer]] += TypicalBytes(graph_.type(value));
  }
}

bool Ordering::LeavesLess(std::uint32_t group) const {
  double freed = 0;
  double share = 0;  // Of what is freed once others have run, too.
  for (const ValueId value : needs_[group]) {
    const double bytes = TypicalBytes(graph_.type(value));
    if (readers_left_[value] == 1) freed += bytes;
    share += bytes / static_cast<double>(readers_left_[value]);
  }
  return freed > made_[group] || share > kLittle * made_[group];
}

}  // namespace

std::vector<std::uint32_t> OrderGroups(const Graph& graph, const Reads& reads,
                                       const Grouping& grouping, const StoredValues& values) {
  return Ordering(graph, reads, grouping, values).Run();
}

}  // namespace stoker
