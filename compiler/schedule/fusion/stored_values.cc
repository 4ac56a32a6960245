#include "compiler/schedule/fusion/stored_values.h"

#include <algorithm>

#include "compiler/analysis/op_traits.h"
#include "compiler/analysis/typical_size.h"
#include "compiler/schedule/fusion/seen_layout.h"

namespace stoker {
namespace {

constexpr int kNever = 1 << 20;
constexpr int kMaxConvertCost = 2;         // A load and the conversion.
constexpr std::int64_t kMinSpread = 8;     // Points that read one element.
constexpr double kMaxLoadedShare = 1.125;  // Of a value's bytes: what is small beside it is little.
constexpr std::size_t kMaxLoads = 8;
constexpr int kWideCost = 4;  // Of what is computed in f64, and converted to and fro.

class StorageDecision {
 public:
  StorageDecision(const Graph& graph, const Reads& reads, const Grouping& grouping,
                  const FusionLimits& limits)
      : graph_(graph),
        reads_(reads),
        grouping_(grouping),
        limits_(limits),
        cost_(graph.values().size(), 1),
        loads_(graph.values().size()) {
    values_.stored.assign(graph.values().size(), false);
    values_.read_by_call.assign(graph.values().size(), false);
    values_.wanted.resize(graph.values().size());
    values_.wanted_by_products.assign(graph.values().size(), false);
  }

  StoredValues Run() &&;

 private:
  void Decide(NodeId node_id);
  void NoteReaders(ValueId value);
  void NoteProducts(ValueId value);
  int RecomputeCost(NodeId node_id) const;
  bool CanRecompute(NodeId node_id, const Read& read) const;
  bool ReadsOnlyMemory(NodeId node_id) const;
  bool IsSpread(const Group& group) const;
  bool IsSpreadRead(const Read& read) const;
  std::optional<Layout> WantedByProduct(const Read& read) const;
  bool IsOfOne(ValueId value) const;
  std::vector<ValueId> LoadsOf(NodeId node_id) const;
  NodeId HeroOf(NodeId node_id) const { return grouping_.groups[grouping_.group_of[node_id]].hero; }
  bool IsOfProduct(NodeId node_id) const {
    return graph_.node(HeroOf(node_id)).kind == OpKind::kDotGeneral;
  }
  // Of what a product's group makes.
  DType ResultTypeOf(NodeId node_id) const {
    const Group& group = grouping_.groups[grouping_.group_of[node_id]];
    return graph_.type(graph_.node(group.nodes.back()).results[0]).dtype;
  }

  const Graph& graph_;
  const Reads& reads_;
  const Grouping& grouping_;
  const FusionLimits& limits_;
  std::vector<int> cost_;                    // Of getting one element where it is needed.
  std::vector<std::vector<ValueId>> loads_;  // What is loaded for that; too many are not all here.
  std::vector<bool> is_output_;
  StoredValues values_;
};

StoredValues StorageDecision::Run() && {
  is_output_.assign(graph_.values().size(), false);
  for (const ValueId output : graph_.outputs()) {
    is_output_[Reads::OriginOf(graph_, output).source] = true;
  }
  for (const GraphInput& input : graph_.inputs()) {
    values_.stored[input.value] = true;
    loads_[input.value] = {input.value};
    NoteReaders(input.value);
  }
  for (NodeId id = 0; id < graph_.nodes().size(); ++id) Decide(id);
  return std::move(values_);
}

// Loads and operations for one element of the node's result, down to what is stored.
int StorageDecision::RecomputeCost(NodeId node_id) const {
  const Node& node = graph_.node(node_id);
  if (RoleOf(graph_, node) != OpRole::kPointwise) return kNever;
  const bool is_wide =
      RowOf(node.kind).f32_in == DType::kF64 && graph_.type(node.results[0]).dtype != DType::kF64;
  int cost = CostOf(node) * (is_wide ? kWideCost : 1);
  for (const Read& read : reads_.OfReader(node_id)) cost += cost_[read.source];
  return std::min(cost, kNever);
}

bool StorageDecision::CanRecompute(NodeId node_id, const Read& read) const {
  const Node& reader = graph_.node(read.reader);
  if (limits_.products_are_calls && IsOfProduct(read.reader)) {
    // A library reads memory alone, of the result's type: what is converted from that it need not
    // be.
    const Node& node = graph_.node(node_id);
    return node.kind == OpKind::kConvert && read.reader != HeroOf(read.reader) &&
           graph_.type(node.operands[0]).dtype == ResultTypeOf(read.reader) &&
           cost_[read.source] <= kMaxConvertCost;
  }
  if (ReadsThroughAddress(graph_, reader, read.operand)) {
    return read.operand == 1 && RoleOf(graph_, reader) == OpRole::kContraction &&
           IsMadeByPacking(graph_, reads_, graph_.node(node_id)) && ReadsOnlyMemory(node_id);
  }
  // What is prepared is not computed in every call, but a mere conversion is not worth a copy.
  const std::uint32_t to = grouping_.group_of[read.reader];
  if (grouping_.groups[to].prepared != grouping_.groups[grouping_.group_of[node_id]].prepared &&
      (graph_.node(node_id).kind != OpKind::kConvert || cost_[read.source] > kMaxConvertCost)) {
    return false;
  }
  int most = limits_.max_recompute_cost;
  if (IsOfOne(read.source)) most = std::max(most, limits_.max_recompute_cost_of_one);
  if (IsSpread(grouping_.groups[grouping_.group_of[node_id]])) {
    most = std::max(most, limits_.max_spread_cost);
  }
  return cost_[read.source] <= most;
}

// Has what is loaded for all of the value no more bytes than it has?
bool StorageDecision::IsOfOne(ValueId value) const {
  double bytes = TypicalBytes(graph_.type(value)) * kMaxLoadedShare;
  for (const ValueId load : loads_[value]) bytes -= TypicalBytes(graph_.type(load));
  return bytes >= 0 && loads_[value].size() <= kMaxLoads;
}

// Stored values that are loaded for the node's result.
std::vector<ValueId> StorageDecision::LoadsOf(NodeId node_id) const {
  std::vector<ValueId> loads;
  for (const Read& read : reads_.OfReader(node_id)) {
    for (const ValueId load : loads_[read.source]) {
      if (loads.size() > kMaxLoads) break;
      if (std::ranges::find(loads, load) == loads.end()) loads.push_back(load);
    }
  }
  return loads;
}

// Is all that others read of the group read at many more points than it has? Then no kernel is left
// of it where they compute it again.
bool StorageDecision::IsSpread(const Group& group) const {
  if (limits_.max_spread_cost <= limits_.max_recompute_cost) return false;
  if (group.kind != GroupKind::kLoop || !group.reduced.empty()) return false;
  for (const NodeId id : group.nodes) {
    for (const ValueId result : graph_.node(id).results) {
      if (is_output_[result]) return false;
      const SymDim elements = graph_.type(result).shape.NumElements();
      for (const std::uint32_t index : reads_.OfSource(result)) {
        const Read& read = reads_.read(index);
        if (group.Contains(read.reader)) continue;
        const Node& reader = graph_.node(read.reader);
        const SymDim points = graph_.type(reader.results[0]).shape.NumElements();
        if (RoleOf(graph_, reader) != OpRole::kPointwise || !elements.IsConstant() ||
            !points.IsConstant() || points.constant() < kMinSpread * elements.constant()) {
          return false;
        }
      }
    }
  }
  return true;
}

// Does a loop over many more points read what another computes? It lies for the reader then.
bool StorageDecision::IsSpreadRead(const Read& read) const {
  const NodeId producer = graph_.value(read.source).producer;
  const Node& reader = graph_.node(read.reader);
  if (producer == kNoNode || RoleOf(graph_, reader) != OpRole::kPointwise) return false;
  const std::uint32_t group = grouping_.group_of[producer];
  if (group == kNoGroup || grouping_.groups[group].kind != GroupKind::kLoop) return false;
  return std::ranges::all_of(read.views,
                             [&](NodeId view) {
                               const OpKind kind = graph_.node(view).kind;
                               return kind == OpKind::kBroadcastInDim || kind == OpKind::kReshape;
                             }) &&
         TypicalBytes(graph_.type(reader.results[0])) >=
             static_cast<double>(kMinSpread) * TypicalBytes(graph_.type(read.source));
}

// Loops that read it, and a kernel that makes it of rows, go along its last dim: another order is
// left to a copy.
std::optional<Layout> StorageDecision::WantedByProduct(const Read& read) const {
  const std::optional<Layout> layout = LayoutForProduct(graph_, read);
  if (!layout || layout->order.empty()) return layout;
  const Shape& shape = graph_.type(read.source).shape;
  int last = shape.rank() - 1;
  while (last > 0 && shape[last] == SymDim(1)) --last;
  auto innermost = layout->order.rbegin();
  while (innermost + 1 != layout->order.rend() && shape[*innermost] == SymDim(1)) ++innermost;
  if (*innermost == last) return layout;
  const NodeId producer = graph_.value(read.source).producer;
  const std::uint32_t group = producer == kNoNode ? kNoGroup : grouping_.group_of[producer];
  const bool is_of_rows = group != kNoGroup && !grouping_.groups[group].reduced.empty();
  const bool serves_products =
      std::ranges::all_of(reads_.OfSource(read.source), [&](std::uint32_t index) {
        return graph_.node(reads_.read(index).reader).kind == OpKind::kDotGeneral;
      });
  return serves_products && !is_of_rows ? layout : std::nullopt;
}

// Are the node's operands in memory, or cheap to have there? Those of its own group may be neither.
bool StorageDecision::ReadsOnlyMemory(NodeId node_id) const {
  const std::uint32_t group = grouping_.group_of[node_id];
  for (const Read& read : reads_.OfReader(node_id)) {
    const NodeId producer = graph_.value(read.source).producer;
    const bool is_own = producer != kNoNode && grouping_.group_of[producer] == group;
    if (is_own && cost_[read.source] > limits_.max_recompute_cost) return false;
  }
  return true;
}

void StorageDecision::NoteReaders(ValueId value) {
  for (const std::uint32_t index : reads_.OfSource(value)) {
    const Read& read = reads_.read(index);
    const std::uint32_t group = grouping_.group_of[read.reader];
    if (group == kNoGroup || !grouping_.groups[group].prepared) values_.read_by_call[value] = true;
    const Node& reader = graph_.node(read.reader);
    if (reader.kind == OpKind::kConvolution && read.operand == 0 && read.views.empty()) {
      Layout layout = ConvolutionInputLayout(graph_, reader);
      std::optional<Layout>& wanted = values_.wanted[value];
      for (std::size_t i = 0; wanted && i < layout.low.size(); ++i) {
        layout.low[i] = std::max(layout.low[i], wanted->low[i]);
        layout.high[i] = std::max(layout.high[i], wanted->high[i]);
      }
      wanted = std::move(layout);
    }
    if (IsSpreadRead(read) && !values_.wanted[value]) {
      values_.wanted[value] = Layout::RowMajor(graph_.type(value).shape.rank());
    }
    const OpRole role = RoleOf(graph_, reader);
    const bool reads_row_major =
        role == OpRole::kExtern || (role == OpRole::kRegion && read.views.empty());
    if (reads_row_major && !values_.wanted[value]) {
      const ValueId operand = reader.operands[static_cast<std::size_t>(read.operand)];
      values_.wanted[value] =
          LayoutSeenRowMajor(graph_, read.views, graph_.type(operand).shape.rank());
    }
  }
  NoteProducts(value);
}

// What others want goes before what products do, which are often served by any order.
void StorageDecision::NoteProducts(ValueId value) {
  if (!limits_.products_are_calls) return;
  for (const std::uint32_t index : reads_.OfSource(value)) {
    if (values_.wanted[value]) return;
    const Read& read = reads_.read(index);
    if (graph_.node(read.reader).kind != OpKind::kDotGeneral) continue;
    values_.wanted[value] = WantedByProduct(read);
    values_.wanted_by_products[value] = values_.wanted[value].has_value();
  }
}

void StorageDecision::Decide(NodeId node_id) {
  const Node& node = graph_.node(node_id);
  const OpRole role = RoleOf(graph_, node);
  if (role == OpRole::kView) return;
  if (role == OpRole::kVirtual) {
    const bool is_splat =
        node.kind == OpKind::kIota ||
        node.constant.size() ==
            static_cast<std::size_t>(SizeInBytes(graph_.type(node.results[0]).dtype));
    cost_[node.results[0]] = is_splat ? 0 : 1;
    NoteReaders(node.results[0]);
    return;
  }
  for (const ValueId result : node.results) {
    cost_[result] = RecomputeCost(node_id);
    loads_[result] = LoadsOf(node_id);
  }
  const std::uint32_t group = grouping_.group_of[node_id];
  for (const ValueId result : node.results) {
    bool stored = is_output_[result];
    for (const std::uint32_t index : reads_.OfSource(result)) {
      const Read& read = reads_.read(index);
      if (grouping_.group_of[read.reader] == group) continue;
      stored = stored || !CanRecompute(node_id, read);
    }
    values_.stored[result] = stored;
    if (stored) {
      cost_[result] = 1;
      loads_[result] = {result};
    }
    if (is_output_[result]) values_.read_by_call[result] = true;
    NoteReaders(result);
  }
}

}  // namespace

StoredValues FindStoredValues(const Graph& graph, const Reads& reads, const Grouping& grouping,
                              const FusionLimits& limits) {
  return StorageDecision(graph, reads, grouping, limits).Run();
}

Layout ConvolutionInputLayout(const Graph& graph, const Node& node) {
  const Shape& input = graph.type(node.operands[0]).shape;
  Layout layout = Layout::RowMajor(input.rank());
  std::rotate(layout.order.begin() + 1, layout.order.begin() + 2, layout.order.end());
  const std::vector<std::int64_t>& pad_low = node.attributes.Ints(AttrName::kPadLow);
  const std::vector<std::int64_t>& pad_high = node.attributes.Ints(AttrName::kPadHigh);
  for (std::size_t i = 0; i < pad_low.size(); ++i) {
    layout.low[i + 2] = pad_low[i];
    // All of the padding, even where strides leave some unread: values of one shape then have one
    // layout, and their kernels are the same.
    layout.high[i + 2] = pad_high[i];
  }
  return layout;
}

bool IsMadeByPacking(const Graph& graph, const Reads& reads, const Node& node) {
  const bool is_scaled =
      node.kind == OpKind::kMultiply && IsFloat(graph.type(node.results[0]).dtype);
  if (!is_scaled && node.kind != OpKind::kConcatenate) return false;
  for (const std::uint32_t index : reads.OfSource(node.results[0])) {
    const Read& read = reads.read(index);
    if (read.operand != 1 || RoleOf(graph, graph.node(read.reader)) != OpRole::kContraction) {
      return false;
    }
  }
  for (const ValueId output : graph.outputs()) {
    if (Reads::OriginOf(graph, output).source == node.results[0]) return false;
  }
  // Packing reads its sources from memory.
  for (const ValueId operand : node.operands) {
    const Reads::Origin origin = Reads::OriginOf(graph, operand);
    const NodeId producer = graph.value(origin.source).producer;
    if (producer != kNoNode && RoleOf(graph, graph.node(producer)) == OpRole::kVirtual) {
      return false;
    }
  }
  return true;
}

}  // namespace stoker
