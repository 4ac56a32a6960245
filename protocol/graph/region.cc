#include "protocol/graph/region.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "protocol/graph/graph.h"

namespace stoker {

Region::Region(Graph graph) : graph_(std::make_shared<const Graph>(std::move(graph))) {}

bool operator==(const Region& a, const Region& b) {
  return a.graph().digest() == b.graph().digest();
}

bool CallsHost(const Node& node) {
  if (node.kind == OpKind::kExternCall) return true;
  return std::ranges::any_of(node.attributes.entries(), [](const auto& entry) {
    const auto* region = std::get_if<Region>(&entry.second);
    return region != nullptr && region->graph().calls_host();
  });
}

std::vector<TensorType> ScanBodyTypes(std::span<const TensorType> operands, std::size_t carried,
                                      std::size_t scanned) {
  std::vector<TensorType> types(operands.begin(), operands.end());
  for (std::size_t i = carried; i < carried + scanned; ++i) {
    const std::vector<SymDim>& dims = operands[i].shape.dims();
    types[i].shape = Shape({dims.begin() + 1, dims.end()});
  }
  return types;
}

TensorType TypeOutside(const TensorType& type, const std::map<std::uint32_t, SymDim>& symbols) {
  std::vector<SymDim> dims;
  for (const SymDim& dim : type.shape) dims.push_back(dim.Substitute(symbols));
  return {type.dtype, Shape(std::move(dims))};
}

Result<std::map<std::uint32_t, SymDim>> BindRegion(const Graph& region,
                                                   std::span<const TensorType> operands) {
  const std::vector<GraphInput>& inputs = region.inputs();
  if (inputs.size() != operands.size()) {
    return InvalidArgument("It has " + std::to_string(inputs.size()) + " inputs for " +
                           std::to_string(operands.size()) + " operands.");
  }
  if (!region.updates().empty()) return InvalidArgument("It updates an input.");
  std::map<std::uint32_t, SymDim> symbols;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::vector<SymDim>& inside = region.type(inputs[i].value).shape.dims();
    const std::vector<SymDim>& outside = operands[i].shape.dims();
    for (std::size_t d = 0; d < inside.size() && d < outside.size(); ++d) {
      const std::optional<std::uint32_t> symbol = inside[d].AsSymbol();
      if (symbol) symbols.emplace(*symbol, outside[d]);
    }
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = "Its input " + std::to_string(i);
    if (inputs[i].role != InputRole::kActivation) return InvalidArgument(name + " is a parameter.");
    const TensorType& type = region.type(inputs[i].value);
    if (TypeOutside(type, symbols) == operands[i]) continue;
    return InvalidArgument(name + " is " + type.ToString() + "; the operand is " +
                           operands[i].ToString() + ".");
  }
  return symbols;
}

}  // namespace stoker
