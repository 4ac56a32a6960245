#include <algorithm>

#include "compiler/transform/passes.h"
#include "compiler/transform/random_bits.h"
#include "compiler/transform/rewriter.h"
#include "protocol/graph/combine.h"
#include "protocol/graph/elements.h"

namespace stoker {
namespace {

bool IsEmpty(const Shape& shape) {
  return std::any_of(shape.begin(), shape.end(),
                     [](const SymDim& size) { return size.IsConstant() && size.constant() == 0; });
}

// What combining no elements gives.
ValueId IdentityConstant(Rewriter& rewriter, Combine combine, const TensorType& type) {
  if (IsFloat(type.dtype)) return rewriter.Scalar(type, FloatIdentity(combine));
  std::string element(static_cast<std::size_t>(SizeInBytes(type.dtype)), '\0');
  WriteIntElement(type.dtype, IntIdentity(combine, type.dtype), element.data());
  return rewriter.Constant(type, element);
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

// Of many operands: concatenations of a part of them each, side by side. A kernel asks of each
// element which operand it comes from.
std::optional<ValueId> Concatenate(Rewriter& rewriter, const Node& node,
                                   std::span<const ValueId> operands) {
  std::vector<ValueId> values(operands.begin(), operands.end());
  if (values.size() <= kMaxConcatenated) return std::nullopt;
  while (values.size() > kMaxConcatenated) {
    const std::size_t parts = (values.size() + kMaxConcatenated - 1) / kMaxConcatenated;
    std::vector<ValueId> joined;
    for (std::size_t part = 0; part < parts; ++part) {
      const std::size_t begin = values.size() * part / parts;
      const std::size_t end = values.size() * (part + 1) / parts;
      joined.push_back(
          rewriter.Add(OpKind::kConcatenate,
                       std::vector<ValueId>(values.begin() + static_cast<std::ptrdiff_t>(begin),
                                            values.begin() + static_cast<std::ptrdiff_t>(end)),
                       node.attributes));
    }
    values = std::move(joined);
  }
  return rewriter.Add(OpKind::kConcatenate, std::move(values), node.attributes);
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
    return IdentityConstant(rewriter, CombineOf(node.attributes), type);
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
    if (const auto joined = Concatenate(rewriter, node, parts)) return joined;
    return rewriter.Add(OpKind::kConcatenate, std::move(parts), node.attributes);
  }
  return std::nullopt;  // Every other op has no elements when an operand has none.
}

}  // namespace

Result<Graph> CanonicalizeOps(const Graph& graph) {
  Rewriter rewriter(graph);
  const auto of_one = [&](const Node& node,
                          std::span<const ValueId> operands) -> std::optional<ValueId> {
    const TensorType& type = graph.type(node.results[0]);
    if (node.kind == OpKind::kConstant || CallsHost(node)) return std::nullopt;
    if (IsEmpty(type.shape)) return rewriter.Scalar(type, 0);
    if (const auto replaced = OfNothing(rewriter, node, operands, type)) return replaced;
    if (node.kind == OpKind::kConvolution) return Convolution(rewriter, node, operands);
    if (node.kind == OpKind::kScatter) return Scatter(rewriter, node, operands);
    if (node.kind == OpKind::kConcatenate) return Concatenate(rewriter, node, operands);
    return std::nullopt;
  };
  const auto of_several = [&](const Node& node,
                              std::span<const ValueId> operands) -> std::vector<ValueId> {
    if (node.kind != OpKind::kRngBitGenerator) return {};
    const TensorType& bits = graph.type(node.results[1]);
    return {StateAfter(rewriter, operands[0], bits), IsEmpty(bits.shape)
                                                         ? rewriter.Scalar(bits, 0)
                                                         : RandomBits(rewriter, operands[0], bits)};
  };
  return rewriter.Run(of_one, of_several);
}

}  // namespace stoker
