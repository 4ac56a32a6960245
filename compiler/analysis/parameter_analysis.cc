#include "compiler/analysis/parameter_analysis.h"

#include "compiler/analysis/op_traits.h"
#include "compiler/analysis/reads.h"
#include "protocol/base/dtype.h"

namespace stoker {
namespace {

// A prepared value up to this size is always kept; a larger one only while it is not this many
// times larger than its sources.
constexpr std::int64_t kAlwaysKeptBytes = 1 << 20;
constexpr std::int64_t kMaxGrowth = 4;

std::int64_t BytesOf(const TensorType& type) {
  return type.shape.NumElements().constant() * SizeInBytes(type.dtype);
}

bool IsWorthKeeping(const Graph& graph, const Node& node) {
  std::int64_t made = 0;
  for (const ValueId result : node.results) made += BytesOf(graph.type(result));
  if (made <= kAlwaysKeptBytes) return true;
  std::int64_t read = 0;
  for (const ValueId operand : node.operands) {
    const ValueId source = Reads::OriginOf(graph, operand).source;
    const NodeId producer = graph.value(source).producer;
    const bool is_virtual =
        producer != kNoNode && RoleOf(graph, graph.node(producer)) == OpRole::kVirtual;
    if (!is_virtual) read += BytesOf(graph.type(source));
  }
  return made <= read * kMaxGrowth;
}

}  // namespace

std::vector<bool> FindPrepared(const Graph& graph, const FusionLimits& limits) {
  std::vector<bool> prepared(graph.values().size(), false);
  for (const GraphInput& input : graph.inputs()) {
    prepared[input.value] = input.role == InputRole::kParameter;
  }
  for (const Node& node : graph.nodes()) {
    bool all = true;
    for (const ValueId operand : node.operands) all = all && prepared[operand];
    for (const ValueId result : node.results) {
      all = all && graph.type(result).shape.IsStatic();
    }
    for (const ValueId operand : node.operands) {
      all = all && graph.type(operand).shape.IsStatic();
    }
    if (!all) continue;
    // What the host framework runs may draw random numbers, or know of more than its operands.
    if (node.kind == OpKind::kExternCall) continue;
    // `prepare` has launches only.
    if (RoleOf(graph, node) == OpRole::kRegion) continue;
    // Padding needs zeros, which only the arena of calls keeps.
    if (node.kind == OpKind::kConvolution) continue;
    if (node.kind == OpKind::kDotGeneral && limits.products_are_calls) continue;
    const OpRole role = RoleOf(graph, node);
    if (role != OpRole::kView && role != OpRole::kVirtual && !IsWorthKeeping(graph, node)) {
      continue;
    }
    for (const ValueId result : node.results) prepared[result] = true;
  }
  return prepared;
}

}  // namespace stoker
