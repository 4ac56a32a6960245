// The pieces of the interpreter, one function per group of ops. Private to protocol/graph.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "protocol/graph/interpret/interpreter.h"

namespace stoker {

using Sizes = std::vector<std::int64_t>;

// One node of a call: sizes are numbers. A rule fills in the elements of the results, which come
// with dtype, shape and zeros; rounding and wrapping to the dtype is done for it afterwards.
struct Evaluation {
  const Node& node;
  const SymBindings& bindings;
  std::vector<const InterpreterTensor*> operands;
  std::vector<InterpreterTensor> results;

  const InterpreterTensor& operand(std::size_t i) const { return *operands[i]; }
  const Attributes& attributes() const { return node.attributes; }
};

Status InterpretCreation(Evaluation& e);
Status InterpretPointwise(Evaluation& e);
Status InterpretShapeOp(Evaluation& e);
Status InterpretReduction(Evaluation& e);
Status InterpretContraction(Evaluation& e);  // And attention.
Status InterpretIndexing(Evaluation& e);
Status InterpretRandom(Evaluation& e);
Status InterpretRegionOp(Evaluation& e, const InterpretOptions& options);

// Float dtypes hold doubles, the others int64.
template <typename T>
std::vector<T>& ElementsOf(InterpreterTensor& tensor) {
  return std::get<std::vector<T>>(tensor.elements);
}
template <typename T>
const std::vector<T>& ElementsOf(const InterpreterTensor& tensor) {
  return std::get<std::vector<T>>(tensor.elements);
}

// Calls f with a value of the type that holds elements of this dtype.
template <typename F>
Status ForElementType(DType dtype, F f) {
  if (IsFloat(dtype)) return f(double{});
  return f(std::int64_t{});
}

inline std::int64_t NumElements(std::span<const std::int64_t> shape) {
  std::int64_t product = 1;
  for (const std::int64_t size : shape) product *= size;
  return product;
}

// Row-major strides, in elements.
inline Sizes StridesOf(std::span<const std::int64_t> shape) {
  Sizes strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

// Calls f(index) for every index of the shape in row-major order.
template <typename F>
void ForEachIndex(std::span<const std::int64_t> shape, F f) {
  Sizes index(shape.size(), 0);
  for (std::int64_t n = NumElements(shape); n > 0; --n) {
    f(std::as_const(index));
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
}

inline std::int64_t Offset(std::span<const std::int64_t> index,
                           std::span<const std::int64_t> strides) {
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < index.size(); ++i) offset += index[i] * strides[i];
  return offset;
}

// A way to look at the elements of a tensor: element `index` stands at base + index . strides.
struct View {
  std::int64_t base = 0;
  Sizes strides;
};

// Row-major elements of a view of this shape.
template <typename T>
std::vector<T> Materialize(const std::vector<T>& elements, const View& view,
                           std::span<const std::int64_t> shape) {
  std::vector<T> out;
  out.reserve(static_cast<std::size_t>(NumElements(shape)));
  ForEachIndex(shape, [&](const Sizes& index) {
    out.push_back(elements[static_cast<std::size_t>(view.base + Offset(index, view.strides))]);
  });
  return out;
}

// Sizes before, of and after one dimension.
struct Split {
  std::int64_t outer = 1;
  std::int64_t size = 1;
  std::int64_t inner = 1;
};
inline Split SplitAt(std::span<const std::int64_t> shape, std::int64_t dim) {
  const auto d = static_cast<std::size_t>(dim);
  return {NumElements(shape.first(d)), shape[d], NumElements(shape.subspan(d + 1))};
}

}  // namespace stoker
