#include "protocol/graph/build/conditions.h"

#include <algorithm>

#include "protocol/graph/build/infer.h"

namespace stoker {
namespace {

std::vector<TensorType> TypesOf(const Graph& graph, std::span<const ValueId> values) {
  std::vector<TensorType> types;
  types.reserve(values.size());
  for (const ValueId value : values) types.push_back(graph.type(value));
  return types;
}

}  // namespace

std::vector<SymDim> ConditionsOf(const Graph& graph) {
  std::vector<SymDim> found;
  for (const Node& node : graph.nodes()) {
    const std::vector<TensorType> operands = TypesOf(graph, node.operands);
    const std::vector<TensorType> results = TypesOf(graph, node.results);
    const NodeTypes types{node.kind, operands, node.attributes, results, &found};
    STOKER_CHECK(InferNode(types).ok());
    for (const TensorType& type : results) {
      for (const SymDim& dim : type.shape) STOKER_CHECK(MayBeAtMost(types, 0, dim));
    }
  }
  std::vector<SymDim> conditions;
  for (SymDim& condition : found) {
    const bool is_new =
        std::find(conditions.begin(), conditions.end(), condition) == conditions.end();
    if (is_new) conditions.push_back(std::move(condition));
  }
  return conditions;
}

}  // namespace stoker
