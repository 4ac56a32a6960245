#include "compiler/schedule/fusion/seen_layout.h"

#include <algorithm>

namespace stoker {
namespace {

bool IsUnit(const SymDim& size) { return size == SymDim(1); }

// Dims of two shapes over the same elements; none of one element.
struct ReshapedDims {
  std::vector<int> from, to;
};

// Nothing where sizes that are not known do not say it.
std::optional<std::vector<ReshapedDims>> ReshapedDimsOf(const Shape& from, const Shape& to) {
  std::vector<ReshapedDims> groups;
  int next_from = 0;
  int next_to = 0;
  // The size of the next dim, which joins `dims`.
  const auto take = [](const Shape& shape, int& next, std::vector<int>& dims) -> SymDim {
    while (next < shape.rank() && IsUnit(shape[next])) ++next;
    if (next == shape.rank()) return 1;
    dims.push_back(next);
    return shape[next++];
  };
  for (;;) {
    ReshapedDims group;
    SymDim before = take(from, next_from, group.from);
    SymDim after = take(to, next_to, group.to);
    if (group.from.empty() && group.to.empty()) return groups;
    while (!(before == after)) {
      if (!before.IsConstant() || !after.IsConstant()) return std::nullopt;
      const bool is_less = before.constant() < after.constant();
      SymDim& shorter = is_less ? before : after;
      const SymDim more = is_less ? take(from, next_from, group.from) : take(to, next_to, group.to);
      if (IsUnit(more)) return std::nullopt;
      shorter = shorter * more;
    }
    groups.push_back(std::move(group));
  }
}

// A dim of one element lies where it stands.
void InsertUnits(const Shape& shape, std::vector<int>& order) {
  for (int dim = 0; dim < shape.rank(); ++dim) {
    if (!IsUnit(shape[dim])) continue;
    const auto before = std::ranges::find(order, dim - 1);
    order.insert(before == order.end() ? order.begin() : before + 1, dim);
  }
}

// How what is shaped `from` and lies in `layout` lies as what is shaped `to`.
std::optional<Layout> Reshaped(const Layout& layout, const Shape& from, const Shape& to) {
  Layout reshaped = Layout::RowMajor(to.rank());
  if (layout.IsRowMajor()) return reshaped;
  const auto groups = ReshapedDimsOf(from, to);
  if (!groups) return std::nullopt;
  std::vector<int> order = layout.order;
  std::erase_if(order, [&](int dim) { return IsUnit(from[dim]); });
  reshaped.order.clear();
  for (auto at = order.begin(); at != order.end();) {
    const auto group = std::ranges::find_if(
        *groups, [&](const ReshapedDims& dims) { return dims.from.front() == *at; });
    if (group == groups->end()) return std::nullopt;
    for (const int dim : group->from) {
      if (at == order.end() || *at != dim) return std::nullopt;
      ++at;
    }
    reshaped.order.insert(reshaped.order.end(), group->to.begin(), group->to.end());
  }
  InsertUnits(to, reshaped.order);
  return reshaped;
}

}  // namespace

std::optional<Layout> LayoutSeenRowMajor(const Graph& graph, std::span<const NodeId> views,
                                         int rank) {
  Layout layout = Layout::RowMajor(rank);
  for (const NodeId view : views) {
    const Node& node = graph.node(view);
    if (node.kind == OpKind::kTranspose) {
      const std::vector<std::int64_t>& dims = node.attributes.Ints(AttrName::kDims);
      for (int& dim : layout.order) dim = static_cast<int>(dims[static_cast<std::size_t>(dim)]);
    } else if (node.kind == OpKind::kReshape) {
      const auto before =
          Reshaped(layout, graph.type(node.results[0]).shape, graph.type(node.operands[0]).shape);
      if (!before) return std::nullopt;
      layout = *before;
    } else {
      return std::nullopt;
    }
  }
  return layout;
}

std::optional<Layout> LayoutSeenOf(const Graph& graph, std::span<const NodeId> views,
                                   Layout layout) {
  if (layout.HasHalo()) return std::nullopt;
  for (; !views.empty(); views = views.first(views.size() - 1)) {
    const Node& node = graph.node(views.back());
    if (node.kind == OpKind::kTranspose) {
      const std::vector<std::int64_t>& dims = node.attributes.Ints(AttrName::kDims);
      for (int& dim : layout.order) {
        dim = static_cast<int>(std::ranges::find(dims, dim) - dims.begin());
      }
    } else if (node.kind == OpKind::kReshape) {
      const auto after =
          Reshaped(layout, graph.type(node.operands[0]).shape, graph.type(node.results[0]).shape);
      if (!after) return std::nullopt;
      layout = *after;
    } else {
      return std::nullopt;
    }
  }
  return layout;
}

std::span<const NodeId> BehindTransposes(const Graph& graph, std::span<const NodeId> views) {
  while (!views.empty() && graph.node(views.front()).kind == OpKind::kTranspose) {
    views = views.subspan(1);
  }
  return views;
}

std::optional<Layout> LayoutForProduct(const Graph& graph, const Read& read) {
  const std::span<const NodeId> views = BehindTransposes(graph, read.views);
  if (views.empty()) return std::nullopt;
  return LayoutSeenRowMajor(graph, views,
                            graph.type(graph.node(views.front()).results[0]).shape.rank());
}

}  // namespace stoker
