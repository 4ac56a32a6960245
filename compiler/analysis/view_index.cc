#include "compiler/analysis/view_index.h"

namespace stoker {
namespace {

SymDim Product(std::span<const SymDim> sizes) {
  SymDim product = 1;
  for (const SymDim& size : sizes) product = product * size;
  return product;
}

ElementIndex ReverseIndex(const Graph& graph, const Node& view, ElementIndex index,
                          const IndexSpace& space) {
  const Shape& shape = graph.type(view.results[0]).shape;
  for (const std::int64_t dim : view.attributes.Ints(AttrName::kDims)) {
    IndexMap& map = index[static_cast<std::size_t>(dim)];
    map = space.Add(IndexSpace::Constant(shape[static_cast<int>(dim)] - 1), space.Scale(map, -1));
  }
  return index;
}

}  // namespace

std::optional<ElementIndex> Reindex(const IndexSpace& space, const ElementIndex& index,
                                    std::span<const SymDim> from, std::span<const SymDim> to) {
  ElementIndex result(to.size());
  // Dims are matched from the innermost outwards in the smallest runs of equal products, so that
  // what a reshape leaves alone stays as it is whatever its size.
  std::size_t f = from.size();
  std::size_t t = to.size();
  while (f > 0 || t > 0) {
    const std::size_t f_end = f;
    const std::size_t t_end = t;
    if (f > 0) --f;
    if (t > 0) --t;
    for (;;) {
      const SymDim a = Product(from.subspan(f, f_end - f));
      const SymDim b = Product(to.subspan(t, t_end - t));
      if (a == b) break;
      if (f == 0 && t == 0) break;
      const bool both_known = a.IsConstant() && b.IsConstant();
      const bool grow_from =
          t == 0 ||
          (f > 0 && (both_known ? a.constant() < b.constant()
                                : a.IsConstant() || (!b.IsConstant() && f_end - f <= t_end - t)));
      if (grow_from) {
        --f;
      } else {
        --t;
      }
    }
    if (f_end - f == 1 && t_end - t == 1) {
      result[t] = index[f];
      continue;
    }
    const IndexMap linear =
        Linearize(space,
                  ElementIndex(index.begin() + static_cast<std::ptrdiff_t>(f),
                               index.begin() + static_cast<std::ptrdiff_t>(f_end)),
                  from.subspan(f, f_end - f));
    std::optional<ElementIndex> digits = Delinearize(space, linear, to.subspan(t, t_end - t));
    if (!digits) return std::nullopt;
    for (std::size_t i = 0; i < digits->size(); ++i) result[t + i] = std::move((*digits)[i]);
  }
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (IsOne(to[i])) result[i] = {};
  }
  return result;
}

std::optional<ElementIndex> PullThroughView(const Graph& graph, const Node& view,
                                            const ElementIndex& result, const IndexSpace& space) {
  const Shape& from = graph.type(view.operands[0]).shape;
  const Shape& to = graph.type(view.results[0]).shape;
  ElementIndex operand(static_cast<std::size_t>(from.rank()));
  if (view.kind == OpKind::kBroadcastInDim) {
    const std::vector<std::int64_t>& dims = view.attributes.Ints(AttrName::kDims);
    for (std::size_t i = 0; i < operand.size(); ++i) {
      if (!IsOne(from.dims()[i])) operand[i] = result[static_cast<std::size_t>(dims[i])];
    }
    return operand;
  }
  if (view.kind == OpKind::kReshape) return Reindex(space, result, to.dims(), from.dims());
  if (view.kind == OpKind::kTranspose) {
    const std::vector<std::int64_t>& dims = view.attributes.Ints(AttrName::kDims);
    for (std::size_t i = 0; i < dims.size(); ++i) {
      operand[static_cast<std::size_t>(dims[i])] = result[i];
    }
    return operand;
  }
  if (view.kind == OpKind::kSlice) {
    const std::vector<SymDim>& start = view.attributes.Dims(AttrName::kStart);
    const std::vector<std::int64_t>& stride = view.attributes.Ints(AttrName::kStride);
    for (std::size_t i = 0; i < operand.size(); ++i) {
      operand[i] = space.Add(IndexSpace::Constant(start[i]), space.Scale(result[i], stride[i]));
    }
    return operand;
  }
  STOKER_CHECK(view.kind == OpKind::kReverse);
  return ReverseIndex(graph, view, result, space);
}

std::optional<ElementIndex> PushThroughView(const Graph& graph, const Node& view,
                                            const ElementIndex& operand, const IndexSpace& space,
                                            std::span<const int> free_dims) {
  const Shape& from = graph.type(view.operands[0]).shape;
  const Shape& to = graph.type(view.results[0]).shape;
  ElementIndex result(static_cast<std::size_t>(to.rank()));
  if (view.kind == OpKind::kBroadcastInDim) {
    const std::vector<std::int64_t>& dims = view.attributes.Ints(AttrName::kDims);
    std::vector<bool> is_new(result.size(), true);
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const auto to_dim = static_cast<std::size_t>(dims[i]);
      if (from.dims()[i] == to.dims()[to_dim]) {
        is_new[to_dim] = false;
        result[to_dim] = operand[i];
      }
    }
    std::size_t used = 0;
    for (std::size_t i = 0; i < result.size(); ++i) {
      if (!is_new[i] || IsOne(to.dims()[i])) continue;
      if (used == free_dims.size() || space.extent(free_dims[used]) != to.dims()[i]) {
        return std::nullopt;
      }
      result[i] = space.Dim(free_dims[used++]);
    }
    return result;
  }
  if (view.kind == OpKind::kReshape) return Reindex(space, operand, from.dims(), to.dims());
  if (view.kind == OpKind::kTranspose) {
    const std::vector<std::int64_t>& dims = view.attributes.Ints(AttrName::kDims);
    for (std::size_t i = 0; i < dims.size(); ++i) {
      result[i] = operand[static_cast<std::size_t>(dims[i])];
    }
    return result;
  }
  if (view.kind == OpKind::kReverse) return ReverseIndex(graph, view, operand, space);
  return std::nullopt;  // A slice: not every element of the operand is in it.
}

}  // namespace stoker
