#include <algorithm>
#include <limits>

#include "compiler/transform/passes.h"
#include "compiler/transform/rewriter.h"

namespace stoker {
namespace {

bool IsEmpty(const Shape& shape) {
  return std::any_of(shape.begin(), shape.end(),
                     [](const SymDim& size) { return size.IsConstant() && size.constant() == 0; });
}

// What combining no elements gives.
double IdentityOf(std::string_view kind, DType dtype) {
  if (kind == "add" || kind == "or") return 0;
  if (kind == "multiply" || kind == "and") return 1;
  const bool is_maximum = kind == "maximum";
  if (IsFloat(dtype)) {
    return is_maximum ? -std::numeric_limits<double>::infinity()
                      : std::numeric_limits<double>::infinity();
  }
  switch (dtype) {
    case DType::kBool:
      return is_maximum ? 0 : 1;
    case DType::kU8:
      return is_maximum ? 0 : 255;
    case DType::kI8:
      return is_maximum ? -128 : 127;
    case DType::kI16:
      return is_maximum ? -32768 : 32767;
    case DType::kI32:
      return is_maximum ? -2147483648.0 : 2147483647.0;
    case DType::kI64:
    case DType::kF64:
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
      break;
  }
  return is_maximum ? -9223372036854775808.0 : 9223372036854774784.0;
}

ValueId IdentityConstant(Rewriter& rewriter, std::string_view kind, const TensorType& type) {
  // The largest i64 is no double.
  if (type.dtype == DType::kI64 && kind == "minimum") {
    const std::int64_t largest = std::numeric_limits<std::int64_t>::max();
    return rewriter.Constant(type,
                             std::string(reinterpret_cast<const char*>(&largest), sizeof largest));
  }
  return rewriter.Scalar(type, IdentityOf(kind, type.dtype));
}

std::optional<ValueId> Convolution(Rewriter& rewriter, const Node& node,
                                   std::span<const ValueId> operands) {
  const std::vector<std::int64_t>& dilation = node.attributes.Ints(AttrName::kLhsDilation);
  std::vector<std::int64_t> low = node.attributes.Ints(AttrName::kPadLow);
  std::vector<std::int64_t> high = node.attributes.Ints(AttrName::kPadHigh);
  const bool is_plain =
      std::all_of(dilation.begin(), dilation.end(), [](std::int64_t d) { return d == 1; }) &&
      std::all_of(low.begin(), low.end(), [](std::int64_t p) { return p >= 0; }) &&
      std::all_of(high.begin(), high.end(), [](std::int64_t p) { return p >= 0; });
  if (is_plain) return std::nullopt;
  const std::size_t spatial = dilation.size();
  std::vector<std::int64_t> pad_low(2, 0);
  std::vector<std::int64_t> pad_high(2, 0);
  std::vector<std::int64_t> interior(2, 0);
  for (std::size_t i = 0; i < spatial; ++i) {
    pad_low.push_back(std::min<std::int64_t>(low[i], 0));
    pad_high.push_back(std::min<std::int64_t>(high[i], 0));
    interior.push_back(dilation[i] - 1);
    low[i] = std::max<std::int64_t>(low[i], 0);
    high[i] = std::max<std::int64_t>(high[i], 0);
  }
  const ValueId zero = rewriter.Scalar({rewriter.type(operands[0]).dtype, {}}, 0);
  const ValueId padded = rewriter.Add(
      OpKind::kPad, {operands[0], zero},
      {{AttrName::kLow, pad_low}, {AttrName::kHigh, pad_high}, {AttrName::kInterior, interior}});
  Attributes attributes = node.attributes;
  attributes.Set(AttrName::kPadLow, low);
  attributes.Set(AttrName::kPadHigh, high);
  attributes.Set(AttrName::kLhsDilation, std::vector<std::int64_t>(spatial, 1));
  return rewriter.Add(OpKind::kConvolution, {padded, operands[1]}, std::move(attributes));
}

// A scatter whose indices are of another integer type.
std::optional<ValueId> Scatter(Rewriter& rewriter, const Node& node,
                               std::span<const ValueId> operands) {
  if (IsEmpty(rewriter.shape(operands[2]))) return operands[0];
  TensorType indices = rewriter.type(operands[1]);
  if (indices.dtype == DType::kI64 || indices.dtype == DType::kI32) return std::nullopt;
  indices.dtype = DType::kI64;
  const ValueId converted = rewriter.Add(OpKind::kConvert, {operands[1]}, {}, indices);
  return rewriter.Add(OpKind::kScatter, {operands[0], converted, operands[2]}, node.attributes);
}

// Ops that read nothing of an empty operand but have elements.
std::optional<ValueId> OfNothing(Rewriter& rewriter, const Node& node,
                                 std::span<const ValueId> operands, const TensorType& type) {
  const bool any_empty = std::any_of(operands.begin(), operands.end(), [&](ValueId operand) {
    return IsEmpty(rewriter.shape(operand));
  });
  if (!any_empty) return std::nullopt;
  const OpKind kind = node.kind;
  if (kind == OpKind::kReduce || kind == OpKind::kReduceWindow) {
    return IdentityConstant(rewriter, node.attributes.String(AttrName::kKind), type);
  }
  if (kind == OpKind::kDotGeneral || kind == OpKind::kConvolution || kind == OpKind::kAttention) {
    return rewriter.Scalar(type, 0);
  }
  if (kind == OpKind::kPad) return rewriter.Broadcast(operands[1], {}, type.shape);
  if (kind == OpKind::kDynamicUpdateSlice) return operands[0];
  if (kind == OpKind::kConcatenate) {
    std::vector<ValueId> parts;
    for (const ValueId operand : operands) {
      if (!IsEmpty(rewriter.shape(operand))) parts.push_back(operand);
    }
    if (parts.size() == 1) return parts[0];
    return rewriter.Add(OpKind::kConcatenate, std::move(parts), node.attributes);
  }
  return std::nullopt;  // Every other op has no elements when an operand has none.
}

}  // namespace

Result<Graph> CanonicalizeOps(const Graph& graph) {
  Rewriter rewriter(graph);
  return rewriter.Run(
      [&](const Node& node, std::span<const ValueId> operands) -> std::optional<ValueId> {
        const TensorType& type = graph.type(node.results[0]);
        if (node.kind == OpKind::kConstant || node.kind == OpKind::kExternCall) return std::nullopt;
        if (IsEmpty(type.shape)) return rewriter.Scalar(type, 0);
        if (const auto replaced = OfNothing(rewriter, node, operands, type)) return replaced;
        if (node.kind == OpKind::kConvolution) return Convolution(rewriter, node, operands);
        if (node.kind == OpKind::kScatter) return Scatter(rewriter, node, operands);
        return std::nullopt;
      });
}

}  // namespace stoker
