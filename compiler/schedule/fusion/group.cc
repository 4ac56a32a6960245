#include "compiler/schedule/fusion/group.h"

#include <algorithm>

#include "compiler/analysis/op_traits.h"

namespace stoker {
namespace {

std::vector<std::int64_t> ReduceDims(const Node& node) {
  if (node.kind == OpKind::kArgReduce) return {node.attributes.Int(AttrName::kDim)};
  std::vector<std::int64_t> dims = node.attributes.Ints(AttrName::kDims);
  std::sort(dims.begin(), dims.end());
  return dims;
}

}  // namespace

std::vector<SymDim> ReducedExtents(const Graph& graph, const Node& node) {
  std::vector<SymDim> extents;
  if (node.kind == OpKind::kReduceWindow) {
    for (const std::int64_t size : node.attributes.Ints(AttrName::kWindow)) {
      extents.push_back(size);
    }
  } else if (node.kind == OpKind::kConvolution) {
    // Spatial dims of the kernel, then the channels of a group.
    const Shape& kernel = graph.type(node.operands[1]).shape;
    for (int i = 2; i < kernel.rank(); ++i) extents.push_back(kernel[i]);
    extents.push_back(kernel[1]);
  } else {
    const Shape& shape = graph.type(node.operands[0]).shape;
    for (const std::int64_t dim : ReduceDims(node)) {
      extents.push_back(shape[static_cast<int>(dim)]);
    }
  }
  std::erase_if(extents, IsOne);
  return extents;
}

std::optional<ElementIndex> OperandIndex(const Graph& graph, const Group& group, const Node& node,
                                         int operand, const ElementIndex& placement) {
  if (ReadsThroughAddress(graph, node, operand)) return std::nullopt;
  if (IsPointwise(node.kind)) return placement;
  if (node.kind == OpKind::kDynamicUpdateSlice && operand == 0) return placement;
  if (node.kind != OpKind::kReduce && node.kind != OpKind::kArgReduce) return std::nullopt;
  const Shape& shape = graph.type(node.operands[0]).shape;
  const std::vector<std::int64_t> dims = ReduceDims(node);
  ElementIndex index(static_cast<std::size_t>(shape.rank()));
  std::size_t kept = 0;
  std::size_t reduced = 0;
  for (std::size_t i = 0; i < index.size(); ++i) {
    const bool is_reduced =
        std::find(dims.begin(), dims.end(), static_cast<std::int64_t>(i)) != dims.end();
    if (!is_reduced) {
      index[i] = placement[kept++];
    } else if (!IsOne(shape.dims()[i])) {
      index[i] = group.reduced_index[reduced++];
    }
  }
  return index;
}

bool SplitDim(Group& group, int dim, std::int64_t inner, std::span<ElementIndex* const> others) {
  std::vector<SymDim> extents = group.space.extents();
  SymDim& extent = extents[static_cast<std::size_t>(dim)];
  extent = SymDim::FloorDiv(extent, inner);
  extents.emplace_back(inner);
  const IndexSpace split(std::move(extents));
  std::vector<IndexMap> replacements;
  for (int i = 0; i + 1 < split.rank(); ++i) replacements.push_back(split.Dim(i));
  const int inner_dim = split.rank() - 1;
  replacements[static_cast<std::size_t>(dim)] =
      split.Add(split.Scale(split.Dim(dim), inner), split.Dim(inner_dim));
  std::vector<IndexMap*> maps;
  for (auto& [node, index] : group.placement) {
    for (IndexMap& map : index) maps.push_back(&map);
  }
  for (ElementIndex* index : others) {
    for (IndexMap& map : *index) maps.push_back(&map);
  }
  for (IndexMap& map : group.reduced_index) maps.push_back(&map);
  std::vector<IndexMap> replaced;
  for (const IndexMap* map : maps) {
    std::optional<IndexMap> over_parts = split.Substitute(*map, replacements);
    if (!over_parts) return false;
    replaced.push_back(*std::move(over_parts));
  }
  for (std::size_t i = 0; i < maps.size(); ++i) *maps[i] = std::move(replaced[i]);
  const auto reduced = std::find(group.reduced.begin(), group.reduced.end(), dim);
  if (reduced != group.reduced.end()) group.reduced.insert(reduced + 1, inner_dim);
  group.space = split;
  return true;
}

}  // namespace stoker
