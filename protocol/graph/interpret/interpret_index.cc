#include <algorithm>
#include <cmath>
#include <numeric>

#include "protocol/graph/build/infer.h"
#include "protocol/graph/combine.h"
#include "protocol/graph/interpret/interpret.h"

namespace stoker {
namespace {

// Reads index vectors of gather and scatter: the indices tensor without `index_vector_dim`.
class IndexVectors {
 public:
  explicit IndexVectors(const Evaluation& e)
      : elements_(ElementsOf<std::int64_t>(e.operand(1))),
        strides_(StridesOf(e.operand(1).shape)),
        vector_dim_(static_cast<std::size_t>(e.attributes().Int(AttrName::kIndexVectorDim))) {}

  // Element k of the vector at this batch index.
  std::int64_t At(const Sizes& batch, std::size_t k) const {
    std::int64_t offset = 0;
    for (std::size_t i = 0, b = 0; i < strides_.size(); ++i) {
      offset += (i == vector_dim_ ? static_cast<std::int64_t>(k) : batch[b++]) * strides_[i];
    }
    return elements_[static_cast<std::size_t>(offset)];
  }

 private:
  const std::vector<std::int64_t>& elements_;
  Sizes strides_;
  std::size_t vector_dim_;
};

// Splits an index into the coordinates in `dims` and the others.
void SplitIndex(const Sizes& index, const Sizes& dims, Sizes& in, Sizes& others) {
  in.clear();
  others.clear();
  for (std::size_t i = 0; i < index.size(); ++i) {
    (Contains(dims, static_cast<std::int64_t>(i)) ? in : others).push_back(index[i]);
  }
}

Result<Sizes> EvaluateSliceSizes(const Evaluation& e) {
  Sizes sizes;
  for (const SymDim& dim : e.attributes().Dims(AttrName::kSliceSizes)) {
    STOKER_TRY(const std::int64_t size, dim.Evaluate(e.bindings));
    const std::int64_t limit = e.operand(0).shape[sizes.size()];
    if (size < 0 || size > limit) {
      return InvalidArgument("Slice size " + std::to_string(size) + " in dimension " +
                             std::to_string(sizes.size()) + " of size " + std::to_string(limit) +
                             ".");
    }
    sizes.push_back(size);
  }
  return sizes;
}

Status InterpretGather(Evaluation& e) {
  STOKER_TRY(const Sizes slice_sizes, EvaluateSliceSizes(e));
  const Sizes& shape = e.operand(0).shape;
  const Sizes& offset_dims = e.attributes().Ints(AttrName::kOffsetDims);
  const Sizes& collapsed = e.attributes().Ints(AttrName::kCollapsedDims);
  const Sizes& start_map = e.attributes().Ints(AttrName::kStartIndexMap);
  const Sizes strides = StridesOf(shape);
  const IndexVectors vectors(e);
  return ForElementType(e.results[0].dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    const std::vector<T>& x = ElementsOf<T>(e.operand(0));
    std::vector<T>& out = ElementsOf<T>(e.results[0]);
    std::size_t next = 0;
    Sizes batch;
    Sizes window;
    ForEachIndex(e.results[0].shape, [&](const Sizes& index) {
      SplitIndex(index, offset_dims, window, batch);
      std::int64_t offset = 0;
      for (std::size_t d = 0, w = 0; d < shape.size(); ++d) {
        if (!Contains(collapsed, static_cast<std::int64_t>(d))) offset += window[w++] * strides[d];
      }
      for (std::size_t k = 0; k < start_map.size(); ++k) {
        const auto d = static_cast<std::size_t>(start_map[k]);
        const std::int64_t last = shape[d] - slice_sizes[d];
        offset += std::clamp<std::int64_t>(vectors.At(batch, k), 0, last) * strides[d];
      }
      out[next++] = x[static_cast<std::size_t>(offset)];
    });
    return Ok();
  });
}

template <typename T>
void InterpretScatter(Evaluation& e) {
  const Combine combine = CombineOf(e.attributes());
  const Sizes& shape = e.operand(0).shape;
  const Sizes& window_dims = e.attributes().Ints(AttrName::kUpdateWindowDims);
  const Sizes& inserted = e.attributes().Ints(AttrName::kInsertedWindowDims);
  const Sizes& scatter_dims = e.attributes().Ints(AttrName::kScatterDims);
  const Sizes strides = StridesOf(shape);
  const IndexVectors vectors(e);
  const std::vector<T>& updates = ElementsOf<T>(e.operand(2));
  std::vector<T>& out = ElementsOf<T>(e.results[0]);
  out = ElementsOf<T>(e.operand(0));
  std::size_t next = 0;
  Sizes batch;
  Sizes window;
  Sizes target(shape.size());
  ForEachIndex(e.operand(2).shape, [&](const Sizes& index) {
    const T update = updates[next++];
    SplitIndex(index, window_dims, window, batch);
    for (std::size_t d = 0, w = 0; d < shape.size(); ++d) {
      target[d] = Contains(inserted, static_cast<std::int64_t>(d)) ? 0 : window[w++];
    }
    for (std::size_t k = 0; k < scatter_dims.size(); ++k) {
      const auto d = static_cast<std::size_t>(scatter_dims[k]);
      const std::int64_t start = vectors.At(batch, k);
      // A start outside the operand is out of bounds; adding to it could overflow.
      if (start < -shape[d] || start >= shape[d]) return;
      target[d] += start;
    }
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (target[d] < 0 || target[d] >= shape[d]) return;
    }
    T& element = out[static_cast<std::size_t>(Offset(target, strides))];
    element = Apply(combine, element, update);
  });
}

// Where the slice of these sizes starts in operand 0; the starts are the operands from `first` on.
std::int64_t ClampedStart(const Evaluation& e, std::size_t first, const Sizes& sizes) {
  const Sizes& shape = e.operand(0).shape;
  const Sizes strides = StridesOf(shape);
  std::int64_t base = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t start = ElementsOf<std::int64_t>(e.operand(first + i))[0];
    base += std::clamp<std::int64_t>(start, 0, shape[i] - sizes[i]) * strides[i];
  }
  return base;
}

Status InterpretDynamicSlice(Evaluation& e) {
  STOKER_TRY(const Sizes sizes, EvaluateSliceSizes(e));
  const View view{ClampedStart(e, 1, sizes), StridesOf(e.operand(0).shape)};
  return ForElementType(e.results[0].dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    ElementsOf<T>(e.results[0]) = Materialize(ElementsOf<T>(e.operand(0)), view, sizes);
    return Ok();
  });
}

Status InterpretDynamicUpdateSlice(Evaluation& e) {
  const Sizes& sizes = e.operand(1).shape;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] <= e.operand(0).shape[i]) continue;
    return InvalidArgument("The update has size " + std::to_string(sizes[i]) + " in dimension " +
                           std::to_string(i) + " of size " + std::to_string(e.operand(0).shape[i]) +
                           ".");
  }
  const View view{ClampedStart(e, 2, sizes), StridesOf(e.operand(0).shape)};
  return ForElementType(e.results[0].dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    std::vector<T>& out = ElementsOf<T>(e.results[0]);
    out = ElementsOf<T>(e.operand(0));
    auto next = ElementsOf<T>(e.operand(1)).begin();
    ForEachIndex(sizes, [&](const Sizes& index) {
      out[static_cast<std::size_t>(view.base + Offset(index, view.strides))] = *next++;
    });
    return Ok();
  });
}

// Ascending with NaN as the largest value.
template <typename T>
bool Less(T a, T b) {
  if constexpr (std::is_same_v<T, double>) {
    if (std::isnan(a)) return false;
    if (std::isnan(b)) return true;
  }
  return a < b;
}

// The positions of one line of keys in sorted order; equal keys keep theirs.
template <typename T>
Sizes SortedPositions(const std::vector<T>& keys, std::int64_t first, std::int64_t stride,
                      std::int64_t size, bool descending) {
  Sizes order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  const auto key = [&](std::int64_t i) {
    return keys[static_cast<std::size_t>(first + i * stride)];
  };
  std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    if (descending ? Less(key(b), key(a)) : Less(key(a), key(b))) return true;
    if (descending ? Less(key(a), key(b)) : Less(key(b), key(a))) return false;
    return a < b;
  });
  return order;
}

template <typename T>
void InterpretSort(Evaluation& e) {
  const Split split = SplitAt(e.operand(0).shape, e.attributes().Int(AttrName::kDim));
  const bool descending = e.attributes().Bool(AttrName::kDescending);
  const std::vector<T>& keys = ElementsOf<T>(e.operand(0));
  for (std::int64_t line = 0; line < split.outer * split.inner; ++line) {
    const std::int64_t first = line / split.inner * split.size * split.inner + line % split.inner;
    const Sizes order = SortedPositions(keys, first, split.inner, split.size, descending);
    for (std::size_t i = 0; i < e.operands.size(); ++i) {
      std::visit(
          [&](auto& out) {
            const auto& from = std::get<std::decay_t<decltype(out)>>(e.operand(i).elements);
            for (std::int64_t k = 0; k < split.size; ++k) {
              out[static_cast<std::size_t>(first + k * split.inner)] =
                  from[static_cast<std::size_t>(first +
                                                order[static_cast<std::size_t>(k)] * split.inner)];
            }
          },
          e.results[i].elements);
    }
  }
}

template <typename T>
Status InterpretTopK(Evaluation& e) {
  const Sizes& shape = e.operand(0).shape;
  const std::int64_t size = shape.back();
  const std::int64_t k = e.attributes().Int(AttrName::kK);
  if (k > size) {
    return InvalidArgument("k is " + std::to_string(k) + "; the last dimension has " +
                           std::to_string(size) + " elements.");
  }
  const bool largest = e.attributes().Bool(AttrName::kLargest);
  const std::vector<T>& x = ElementsOf<T>(e.operand(0));
  std::vector<T>& values = ElementsOf<T>(e.results[0]);
  std::vector<std::int64_t>& indices = ElementsOf<std::int64_t>(e.results[1]);
  const std::int64_t lines = NumElements(std::span(shape).first(shape.size() - 1));
  std::size_t next = 0;
  for (std::int64_t line = 0; line < lines; ++line) {
    const Sizes order = SortedPositions(x, line * size, 1, size, largest);
    for (std::int64_t i = 0; i < k; ++i, ++next) {
      indices[next] = order[static_cast<std::size_t>(i)];
      values[next] = x[static_cast<std::size_t>(line * size + indices[next])];
    }
  }
  return Ok();
}

}  // namespace

Status InterpretIndexing(Evaluation& e) {
  if (e.node.kind == OpKind::kGather) return InterpretGather(e);
  if (e.node.kind == OpKind::kDynamicSlice) return InterpretDynamicSlice(e);
  if (e.node.kind == OpKind::kDynamicUpdateSlice) return InterpretDynamicUpdateSlice(e);
  return ForElementType(e.operand(0).dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    if (e.node.kind == OpKind::kTopK) return InterpretTopK<T>(e);
    if (e.node.kind == OpKind::kSort) {
      InterpretSort<T>(e);
    } else {
      InterpretScatter<T>(e);
    }
    return Ok();
  });
}

}  // namespace stoker
