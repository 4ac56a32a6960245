#include "compiler/analysis/seen_as_stored.h"

#include <algorithm>
#include <iterator>
#include <ranges>

#include "compiler/analysis/op_traits.h"

namespace stoker {
namespace {

bool Is16BitFloat(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

bool HasSteps(const Graph& graph, const Node& node) {
  constexpr OpKind kSteps[] = {OpKind::kSign,    OpKind::kFloor,     OpKind::kCeil,
                               OpKind::kTrunc,   OpKind::kRemainder, OpKind::kRoundNearestEven,
                               OpKind::kCompare, OpKind::kIsFinite,  OpKind::kArgReduce};
  if (node.kind == OpKind::kConvert) return !IsFloat(graph.type(node.results[0]).dtype);
  return std::ranges::find(kSteps, node.kind) != std::end(kSteps);
}

// `round(x, decimals=1)` is made of x * 10.
bool IsByConstants(const Graph& graph, const Node& node) {
  constexpr OpKind kKinds[] = {OpKind::kAdd, OpKind::kSubtract, OpKind::kMultiply, OpKind::kDivide};
  return std::ranges::find(kKinds, node.kind) != std::end(kKinds) &&
         std::ranges::any_of(node.operands, [&](ValueId operand) {
           const NodeId producer = graph.value(operand).producer;
           return producer != kNoNode && graph.node(producer).kind == OpKind::kConstant;
         });
}

bool Moves(const Graph& graph, const Node& node) {
  const OpRole role = RoleOf(graph, node);
  return role == OpRole::kView || role == OpRole::kAssemble || node.kind == OpKind::kSelect ||
         node.kind == OpKind::kAbs || node.kind == OpKind::kNegate || IsByConstants(graph, node) ||
         (node.kind == OpKind::kConvert && Is16BitFloat(graph.type(node.operands[0]).dtype));
}

}  // namespace

std::vector<bool> SeenAsStored(const Graph& graph) {
  // Floats of any size on the way to a step, from the last node to the first.
  std::vector<bool> is_taken(graph.values().size(), false);
  for (const Node& node : graph.nodes() | std::views::reverse) {
    const bool leads_on = !node.results.empty() && is_taken[node.results[0]] && Moves(graph, node);
    if (!leads_on && !HasSteps(graph, node)) continue;
    for (const ValueId operand : node.operands) is_taken[operand] = true;
  }
  for (ValueId value = 0; value < is_taken.size(); ++value) {
    is_taken[value] = is_taken[value] && Is16BitFloat(graph.type(value).dtype);
  }
  return is_taken;
}

}  // namespace stoker
