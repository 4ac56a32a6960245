#include <algorithm>

#include "protocol/graph/interpret/interpret.h"

namespace stoker {
namespace {

// The result is a view of operand 0.
Status CopyView(Evaluation& e, const View& view) {
  return ForElementType(e.results[0].dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    ElementsOf<T>(e.results[0]) =
        Materialize(ElementsOf<T>(e.operand(0)), view, e.results[0].shape);
    return Ok();
  });
}

Status InterpretBroadcastInDim(Evaluation& e) {
  const Sizes& dims = e.attributes().Ints(AttrName::kDims);
  const Sizes strides = StridesOf(e.operand(0).shape);
  View view{0, Sizes(e.results[0].shape.size(), 0)};
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (e.operand(0).shape[i] != 1) view.strides[static_cast<std::size_t>(dims[i])] = strides[i];
  }
  return CopyView(e, view);
}

Status InterpretTranspose(Evaluation& e) {
  const Sizes strides = StridesOf(e.operand(0).shape);
  View view;
  for (const std::int64_t dim : e.attributes().Ints(AttrName::kDims)) {
    view.strides.push_back(strides[static_cast<std::size_t>(dim)]);
  }
  return CopyView(e, view);
}

Status InterpretSlice(Evaluation& e) {
  const Sizes& shape = e.operand(0).shape;
  const Sizes& stride = e.attributes().Ints(AttrName::kStride);
  View view{0, StridesOf(shape)};
  for (std::size_t i = 0; i < shape.size(); ++i) {
    STOKER_TRY(const std::int64_t start,
               e.attributes().Dims(AttrName::kStart)[i].Evaluate(e.bindings));
    STOKER_TRY(const std::int64_t limit,
               e.attributes().Dims(AttrName::kLimit)[i].Evaluate(e.bindings));
    if (start < 0 || start > limit || limit > shape[i]) {
      return InvalidArgument("Dimension " + std::to_string(i) + " of size " +
                             std::to_string(shape[i]) + " is cut from " + std::to_string(start) +
                             " to " + std::to_string(limit) + ".");
    }
    view.base += start * view.strides[i];
    view.strides[i] *= stride[i];
  }
  return CopyView(e, view);
}

Status InterpretReverse(Evaluation& e) {
  const Sizes& shape = e.operand(0).shape;
  View view{0, StridesOf(shape)};
  for (const std::int64_t dim : e.attributes().Ints(AttrName::kDims)) {
    const auto d = static_cast<std::size_t>(dim);
    view.base += (shape[d] - 1) * view.strides[d];
    view.strides[d] = -view.strides[d];
  }
  return CopyView(e, view);
}

template <typename T>
void InterpretPad(Evaluation& e) {
  const Sizes& low = e.attributes().Ints(AttrName::kLow);
  const Sizes& interior = e.attributes().Ints(AttrName::kInterior);
  const Sizes& shape = e.results[0].shape;
  const Sizes strides = StridesOf(shape);
  const std::vector<T>& x = ElementsOf<T>(e.operand(0));
  std::vector<T>& out = ElementsOf<T>(e.results[0]);
  out.assign(out.size(), ElementsOf<T>(e.operand(1))[0]);
  std::size_t next = 0;
  ForEachIndex(e.operand(0).shape, [&](const Sizes& index) {
    const T element = x[next++];
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < index.size(); ++i) {
      const std::int64_t at = low[i] + index[i] * (interior[i] + 1);
      if (at < 0 || at >= shape[i]) return;
      offset += at * strides[i];
    }
    out[static_cast<std::size_t>(offset)] = element;
  });
}

template <typename T>
void InterpretConcatenate(Evaluation& e) {
  const std::int64_t dim = e.attributes().Int(AttrName::kDim);
  const Split whole = SplitAt(e.results[0].shape, dim);
  std::vector<T>& out = ElementsOf<T>(e.results[0]);
  std::int64_t start = 0;
  for (const InterpreterTensor* operand : e.operands) {
    const Split part = SplitAt(operand->shape, dim);
    const std::int64_t row = part.size * part.inner;
    for (std::int64_t o = 0; o < part.outer; ++o) {
      std::copy_n(ElementsOf<T>(*operand).begin() + o * row, row,
                  out.begin() + o * whole.size * whole.inner + start);
    }
    start += row;
  }
}

}  // namespace

Status InterpretShapeOp(Evaluation& e) {
  const OpKind kind = e.node.kind;
  if (kind == OpKind::kBroadcastInDim) return InterpretBroadcastInDim(e);
  if (kind == OpKind::kTranspose) return InterpretTranspose(e);
  if (kind == OpKind::kSlice) return InterpretSlice(e);
  if (kind == OpKind::kReverse) return InterpretReverse(e);
  if (kind == OpKind::kReshape) {
    e.results[0].elements = e.operand(0).elements;
    return Ok();
  }
  return ForElementType(e.results[0].dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    if (kind == OpKind::kPad) {
      InterpretPad<T>(e);
    } else {
      InterpretConcatenate<T>(e);
    }
    return Ok();
  });
}

}  // namespace stoker
