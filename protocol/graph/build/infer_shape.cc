#include "protocol/graph/build/infer.h"

namespace stoker {
namespace {

Result<TensorType> InferBroadcastInDim(const NodeTypes& node) {
  STOKER_TRY(TensorType result, ExpectHint(node));
  const TensorType& operand = node.operands[0];
  const std::vector<std::int64_t>& dims = node.attributes.Ints(AttrName::kDims);
  if (result.dtype != operand.dtype) {
    return OperandError(0, operand, "the dtype of the result, " + result.ToString());
  }
  STOKER_RETURN_IF_ERROR(ExpectIncreasingDims(node, AttrName::kDims, result.shape.rank()));
  if (dims.size() != operand.shape.dims().size()) {
    return AttributeError(AttrName::kDims, dims,
                          "one per dimension of operand 0, " + operand.ToString());
  }
  for (int i = 0; i < operand.shape.rank(); ++i) {
    const SymDim& from = operand.shape[i];
    const SymDim& to = result.shape[static_cast<int>(dims[static_cast<std::size_t>(i)])];
    if (from == to || from == SymDim(1)) continue;
    return OperandError(0, operand,
                        "dimension " + std::to_string(i) + " to be 1 or " + to.ToString());
  }
  return result;
}

Result<TensorType> InferReshape(const NodeTypes& node) {
  STOKER_TRY(TensorType result, ExpectHint(node));
  const TensorType& operand = node.operands[0];
  const SymDim from = operand.shape.NumElements();
  const SymDim to = result.shape.NumElements();
  if (result.dtype != operand.dtype || from != to || from.IsOverflow()) {
    return OperandError(0, operand,
                        std::string(Name(result.dtype)) + " with the " + to.ToString() +
                            " elements of the result, not " + from.ToString());
  }
  return result;
}

Result<TensorType> InferTranspose(const NodeTypes& node) {
  const TensorType& operand = node.operands[0];
  const int rank = operand.shape.rank();
  STOKER_RETURN_IF_ERROR(ExpectDims(node, AttrName::kDims, rank));
  STOKER_RETURN_IF_ERROR(ExpectInts(node, AttrName::kDims, rank, 0));
  std::vector<SymDim> shape;
  shape.reserve(static_cast<std::size_t>(rank));
  for (const std::int64_t dim : node.attributes.Ints(AttrName::kDims)) {
    shape.push_back(operand.shape[static_cast<int>(dim)]);
  }
  return TensorType{operand.dtype, std::move(shape)};
}

Result<TensorType> InferSlice(const NodeTypes& node) {
  const TensorType& operand = node.operands[0];
  const int rank = operand.shape.rank();
  const std::vector<SymDim>& start = node.attributes.Dims(AttrName::kStart);
  const std::vector<SymDim>& limit = node.attributes.Dims(AttrName::kLimit);
  for (const AttrName name : {AttrName::kStart, AttrName::kLimit}) {
    const std::vector<SymDim>& bounds = node.attributes.Dims(name);
    if (bounds.size() != static_cast<std::size_t>(rank)) {
      return AttributeError(name, bounds, std::to_string(rank) + " dims");
    }
  }
  STOKER_RETURN_IF_ERROR(ExpectInts(node, AttrName::kStride, rank, 1));
  std::vector<SymDim> shape;
  shape.reserve(static_cast<std::size_t>(rank));
  for (std::size_t i = 0; i < start.size(); ++i) {
    const SymDim& size = operand.shape.dims()[i];
    if (!MayBeAtMost(node, 0, start[i]) || !MayBeAtMost(node, start[i], limit[i])) {
      return AttributeError(
          AttrName::kStart, start,
          "0 <= start <= limit " + limit[i].ToString() + " in dimension " + std::to_string(i));
    }
    if (!MayBeAtMost(node, limit[i], size)) {
      return AttributeError(
          AttrName::kLimit, limit,
          "at most the size " + size.ToString() + " of dimension " + std::to_string(i));
    }
    const std::int64_t stride = node.attributes.Ints(AttrName::kStride)[i];
    shape.push_back(SymDim::CeilDiv(limit[i] - start[i], stride));
  }
  return TensorType{operand.dtype, std::move(shape)};
}

Result<TensorType> InferPad(const NodeTypes& node) {
  const TensorType& operand = node.operands[0];
  const int rank = operand.shape.rank();
  if (node.operands[1] != TensorType{operand.dtype, {}}) {
    return OperandError(1, node.operands[1], TensorType{operand.dtype, {}}.ToString());
  }
  STOKER_RETURN_IF_ERROR(ExpectInts(node, AttrName::kLow, rank, INT64_MIN));
  STOKER_RETURN_IF_ERROR(ExpectInts(node, AttrName::kHigh, rank, INT64_MIN));
  STOKER_RETURN_IF_ERROR(ExpectInts(node, AttrName::kInterior, rank, 0));
  std::vector<SymDim> shape;
  for (std::size_t i = 0; i < static_cast<std::size_t>(rank); ++i) {
    const SymDim& size = operand.shape.dims()[i];
    SymDim padded =
        size + node.attributes.Ints(AttrName::kLow)[i] + node.attributes.Ints(AttrName::kHigh)[i];
    const std::int64_t interior = node.attributes.Ints(AttrName::kInterior)[i];
    if (interior != 0) padded = padded + SymDim::Max(size - 1, 0) * interior;
    shape.push_back(std::move(padded));
  }
  return TensorType{operand.dtype, std::move(shape)};
}

Result<TensorType> InferConcatenate(const NodeTypes& node) {
  if (node.operands.empty()) return InvalidArgument("It has no operands; expected at least 1.");
  const TensorType& first = node.operands[0];
  STOKER_RETURN_IF_ERROR(ExpectDim(node, AttrName::kDim, first.shape.rank()));
  const auto dim = static_cast<std::size_t>(node.attributes.Int(AttrName::kDim));
  std::vector<SymDim> shape = first.shape.dims();
  for (std::size_t i = 1; i < node.operands.size(); ++i) {
    const TensorType& operand = node.operands[i];
    bool matches = operand.dtype == first.dtype && operand.shape.rank() == first.shape.rank();
    for (std::size_t d = 0; matches && d < shape.size(); ++d) {
      matches = d == dim || operand.shape.dims()[d] == shape[d];
    }
    if (!matches) {
      return OperandError(
          i, operand,
          first.ToString() + " as operand 0 in all but dimension " + std::to_string(dim));
    }
    shape[dim] = shape[dim] + operand.shape.dims()[dim];
  }
  return TensorType{first.dtype, std::move(shape)};
}

Result<TensorType> Infer(const NodeTypes& node) {
  if (node.kind == OpKind::kBroadcastInDim) return InferBroadcastInDim(node);
  if (node.kind == OpKind::kReshape) return InferReshape(node);
  if (node.kind == OpKind::kTranspose) return InferTranspose(node);
  if (node.kind == OpKind::kSlice) return InferSlice(node);
  if (node.kind == OpKind::kPad) return InferPad(node);
  if (node.kind == OpKind::kConcatenate) return InferConcatenate(node);
  STOKER_CHECK(node.kind == OpKind::kReverse);
  STOKER_RETURN_IF_ERROR(ExpectDims(node, AttrName::kDims, node.operands[0].shape.rank()));
  return node.operands[0];
}

}  // namespace

Result<std::vector<TensorType>> InferShapeOp(const NodeTypes& node) {
  STOKER_TRY(TensorType type, Infer(node));
  return std::vector<TensorType>{std::move(type)};
}

}  // namespace stoker
