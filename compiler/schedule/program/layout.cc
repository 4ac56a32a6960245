#include "compiler/schedule/program/layout.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace stoker {
namespace {

SymDim PaddedSize(const Layout& layout, const Shape& shape, int dim) {
  const auto i = static_cast<std::size_t>(dim);
  const SymDim size = shape[dim] + (layout.low[i] + layout.high[i]);
  if (layout.row_multiple == 1 || dim != layout.order.back()) return size;
  return SymDim::FloorDiv(size + (layout.row_multiple - 1), layout.row_multiple) *
         layout.row_multiple;
}

}  // namespace

Layout Layout::RowMajor(int rank) {
  Layout layout;
  layout.order.resize(static_cast<std::size_t>(rank));
  std::iota(layout.order.begin(), layout.order.end(), 0);
  layout.low.assign(layout.order.size(), 0);
  layout.high.assign(layout.order.size(), 0);
  return layout;
}

bool Layout::HasHalo() const {
  const auto is_positive = [](std::int64_t x) { return x > 0; };
  return std::any_of(low.begin(), low.end(), is_positive) ||
         std::any_of(high.begin(), high.end(), is_positive);
}

bool Layout::IsRowMajor() const { return *this == RowMajor(static_cast<int>(order.size())); }

bool LieAlike(const Layout& a, const Layout& b, const Shape& shape) {
  const bool has_gaps = a.row_multiple != 1 || b.row_multiple != 1;
  if (has_gaps || a.HasHalo() || b.HasHalo()) return a == b;
  const auto steps = [&](const Layout& layout) {
    std::vector<int> dims;
    for (const int dim : layout.order) {
      if (!(shape[dim] == SymDim(1))) dims.push_back(dim);
    }
    return dims;
  };
  return steps(a) == steps(b);
}

std::vector<SymDim> StridesOf(const Layout& layout, const Shape& shape) {
  std::vector<SymDim> strides(layout.order.size());
  SymDim stride = 1;
  for (std::size_t i = layout.order.size(); i-- > 0;) {
    const int dim = layout.order[i];
    strides[static_cast<std::size_t>(dim)] = stride;
    if (i > 0) stride = stride * PaddedSize(layout, shape, dim);
  }
  return strides;
}

SymDim ElementsOf(const Layout& layout, const Shape& shape) {
  SymDim count = 1;
  for (const int dim : layout.order) count = count * PaddedSize(layout, shape, dim);
  return count;
}

IndexMap PhysicalIndex(const IndexSpace& space, const Layout& layout, const Shape& shape,
                       const ElementIndex& index) {
  const std::vector<SymDim> strides = StridesOf(layout, shape);
  IndexMap position;
  for (std::size_t i = 0; i < index.size(); ++i) {
    const IndexMap shifted =
        layout.low[i] == 0 ? index[i] : space.Add(index[i], IndexSpace::Constant(layout.low[i]));
    position = space.Add(position, space.Scale(shifted, strides[i]));
  }
  return position;
}

Layout NaturalLayout(const ElementIndex& index, const std::vector<int>& order) {
  Layout layout = Layout::RowMajor(static_cast<int>(index.size()));
  // Outermost: the dim whose index changes in the outermost loop; of two on one loop, the one that
  // changes more slowly. A dim of one element goes where it stands.
  using Key = std::tuple<std::size_t, std::int64_t>;
  std::vector<Key> keys(index.size(), Key{0, 0});
  for (std::size_t i = 0; i < index.size(); ++i) {
    Key key{order.size(), 0};
    for (const IndexTerm& term : index[i].terms) {
      const auto at = std::find(order.begin(), order.end(), term.dim) - order.begin();
      key = std::min(key, Key{static_cast<std::size_t>(at), -term.divisor});
    }
    keys[i] = index[i].terms.empty() && i > 0 ? keys[i - 1] : key;
  }
  std::sort(layout.order.begin(), layout.order.end(), [&](int a, int b) {
    const auto x = static_cast<std::size_t>(a);
    const auto y = static_cast<std::size_t>(b);
    return std::tuple(keys[x], a) < std::tuple(keys[y], b);
  });
  return layout;
}

}  // namespace stoker
