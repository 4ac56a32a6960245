#include "compiler/transform/region_graph.h"

#include "protocol/graph/build/graph_builder.h"

namespace stoker {
namespace {

// The region's values keep their numbers: it is in canonical form.
GraphBuilder Begin(const Node& loop, const Graph& region) {
  GraphBuilder builder(region.name());
  for (std::size_t i = 0; i < region.inputs().size(); ++i) {
    const TensorType& type = region.type(region.inputs()[i].value);
    const bool stays = i >= loop.results.size() && type.shape.IsStatic();
    builder.Input(type, stays ? InputRole::kParameter : InputRole::kActivation);
  }
  for (const Node& node : region.nodes()) {
    std::vector<TensorType> types;
    for (const ValueId result : node.results) types.push_back(region.type(result));
    if (node.kind == OpKind::kConstant) {
      builder.Constant(types[0], node.constant);
    } else {
      builder.AddMulti(node.kind, node.operands, node.attributes, std::move(types));
    }
  }
  return builder;
}

}  // namespace

Result<Graph> ConditionGraph(const Node& loop) {
  const Graph& region = loop.attributes.GraphOf(AttrName::kCondition);
  return Begin(loop, region).Build(region.outputs());
}

Result<Graph> BodyGraph(const Node& loop) {
  const Graph& region = loop.attributes.GraphOf(AttrName::kBody);
  std::vector<InputUpdate> updates;
  for (std::uint32_t i = 0; i < region.outputs().size(); ++i) updates.push_back({i, i});
  return Begin(loop, region).Build(region.outputs(), updates);
}

}  // namespace stoker
