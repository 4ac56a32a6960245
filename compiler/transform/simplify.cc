#include <algorithm>
#include <cmath>
#include <numeric>

#include "compiler/transform/passes.h"
#include "compiler/transform/rewriter.h"
#include "compiler/transform/simplify_views.h"

namespace stoker {
namespace {

// Every value of `from` is a value of `to`.
bool IsLossless(DType from, DType to) {
  if (from == to || from == DType::kBool) return true;
  if (IsFloat(from)) {
    if (to == DType::kF64) return true;
    return to == DType::kF32 && from != DType::kF64;
  }
  if (IsFloat(to)) {
    const int bits = SizeInBytes(from) * 8;
    return bits <= (to == DType::kF64 ? 32 : to == DType::kF32 ? 16 : 8);
  }
  if (to == DType::kBool || to == DType::kU8) return false;
  return SizeInBytes(from) < SizeInBytes(to);
}

class Simplifier {
 public:
  explicit Simplifier(Rewriter& rewriter) : r_(rewriter) {}

  std::optional<ValueId> operator()(const Node& node, std::span<const ValueId> operands) {
    if (const auto view = SimplifyView(r_, node, operands)) return view;
    if (IsPointwise(node.kind)) {
      if (operands.size() == 1) return Unary(node, operands[0]);
      if (operands.size() == 2) return Binary(node, operands[0], operands[1]);
      return Ternary(node, operands);
    }
    if (node.kind == OpKind::kReduce || node.kind == OpKind::kArgReduce) {
      return Reduction(node, operands[0]);
    }
    return std::nullopt;
  }

 private:
  const TensorType& ResultType(const Node& node) const { return r_.source().type(node.results[0]); }

  std::optional<ValueId> Unary(const Node& node, ValueId x) {
    const TensorType& type = ResultType(node);
    const bool is_same = r_.type(x) == type;
    if (node.kind == OpKind::kBitcastConvert && is_same) return x;
    if (node.kind == OpKind::kNegate || node.kind == OpKind::kNot) {
      if (const auto* inner = r_.Find(x, node.kind)) return inner->operands[0];
    }
    if (node.kind != OpKind::kConvert) return std::nullopt;
    if (is_same) return x;
    const auto* inner = r_.Find(x, OpKind::kConvert);
    if (inner == nullptr) return std::nullopt;
    const ValueId source = inner->operands[0];
    if (!IsLossless(r_.type(source).dtype, r_.type(x).dtype)) return std::nullopt;
    if (r_.type(source) == type) return source;
    return r_.Add(OpKind::kConvert, {source}, {}, type);
  }

  std::optional<ValueId> Binary(const Node& node, ValueId a, ValueId b) {
    const TensorType& type = ResultType(node);
    const std::optional<double> x = r_.SplatOf(a);
    const std::optional<double> y = r_.SplatOf(b);
    const bool is_integer = !IsFloat(type.dtype);
    if (node.kind == OpKind::kMultiply) {
      if (y == 1.0) return a;
      if (x == 1.0) return b;
    }
    if (node.kind == OpKind::kDivide && y) {
      if (*y == 1.0) return a;
      // The reciprocal of a power of two is exact.
      int exponent = 0;
      if (!is_integer && std::frexp(*y, &exponent) == 0.5 && std::abs(exponent) < 100 &&
          type.dtype != DType::kF16) {
        return r_.Add(OpKind::kMultiply, {a, r_.Scalar(type, 1 / *y)});
      }
    }
    // x - 0 is x, x + 0 is not when x is -0.
    if (node.kind == OpKind::kSubtract && y == 0.0 && !std::signbit(*y)) return a;
    if (node.kind == OpKind::kAdd && is_integer) {
      if (y == 0.0) return a;
      if (x == 0.0) return b;
    }
    if (node.kind == OpKind::kPower && y && !is_integer) {
      if (*y == 1.0) return a;
      if (*y == 2.0) return r_.Add(OpKind::kMultiply, {a, a});
      if (*y == 3.0) return r_.Add(OpKind::kMultiply, {r_.Add(OpKind::kMultiply, {a, a}), a});
    }
    if (type.dtype == DType::kBool) {
      if (node.kind == OpKind::kAnd) {
        if (x == 1.0 || y == 0.0) return b;
        if (y == 1.0 || x == 0.0) return a;
      }
      if (node.kind == OpKind::kOr) {
        if (x == 0.0 || y == 1.0) return b;
        if (y == 0.0 || x == 1.0) return a;
      }
    }
    return std::nullopt;
  }

  std::optional<ValueId> Ternary(const Node& node, std::span<const ValueId> operands) {
    if (node.kind != OpKind::kSelect) return std::nullopt;
    if (operands[1] == operands[2]) return operands[1];
    if (const std::optional<double> predicate = r_.SplatOf(operands[0])) {
      return *predicate != 0 ? operands[1] : operands[2];
    }
    return std::nullopt;
  }

  std::optional<ValueId> Reduction(const Node& node, ValueId x) {
    const TensorType& type = ResultType(node);
    if (node.kind == OpKind::kReduce) {
      // Over nothing, or over dims of one element.
      if (type.shape.NumElements() != r_.shape(x).NumElements()) return std::nullopt;
      for (const std::int64_t dim : node.attributes.Ints(AttrName::kDims)) {
        if (r_.shape(x)[static_cast<int>(dim)] != SymDim(1)) return std::nullopt;
      }
      return r_.Reshape(x, type.shape);
    }
    if (node.kind == OpKind::kArgReduce) {
      const auto dim = static_cast<int>(node.attributes.Int(AttrName::kDim));
      if (r_.shape(x)[dim] == SymDim(1)) return r_.Scalar(type, 0);
    }
    return std::nullopt;
  }

  Rewriter& r_;
};

}  // namespace

Result<Graph> Simplify(const Graph& graph) {
  Rewriter rewriter(graph);
  return rewriter.Run(Simplifier(rewriter));
}

}  // namespace stoker
