#include "protocol/graph/build/infer.h"
#include "protocol/graph/build/window.h"

namespace stoker {
namespace {

Result<TensorType> InferReduce(const NodeTypes& node) {
  const TensorType& operand = node.operands[0];
  STOKER_RETURN_IF_ERROR(ExpectCombine(node));
  STOKER_RETURN_IF_ERROR(ExpectDims(node, AttrName::kDims, operand.shape.rank()));
  const std::vector<std::int64_t>& dims = node.attributes.Ints(AttrName::kDims);
  std::vector<SymDim> shape;
  for (int i = 0; i < operand.shape.rank(); ++i) {
    if (!Contains(dims, i)) shape.push_back(operand.shape[i]);
  }
  return TensorType{operand.dtype, std::move(shape)};
}

Result<TensorType> InferArgReduce(const NodeTypes& node) {
  const TensorType& operand = node.operands[0];
  STOKER_RETURN_IF_ERROR(ExpectCombine(node));
  STOKER_RETURN_IF_ERROR(ExpectDim(node, AttrName::kDim, operand.shape.rank()));
  const auto dim = static_cast<std::ptrdiff_t>(node.attributes.Int(AttrName::kDim));
  if (!MayBeAtMost(node, 1, operand.shape[static_cast<int>(dim)])) {
    return OperandError(0, operand, "dimension " + std::to_string(dim) + " not to be empty");
  }
  std::vector<SymDim> shape = operand.shape.dims();
  shape.erase(shape.begin() + dim);
  return TensorType{DType::kI64, std::move(shape)};
}

Result<TensorType> InferReduceWindow(const NodeTypes& node) {
  const TensorType& operand = node.operands[0];
  const int rank = operand.shape.rank();
  STOKER_RETURN_IF_ERROR(ExpectCombine(node));
  STOKER_RETURN_IF_ERROR(ExpectInts(node, AttrName::kWindow, rank, 1));
  STOKER_RETURN_IF_ERROR(ExpectInts(node, AttrName::kStrides, rank, 1));
  STOKER_RETURN_IF_ERROR(ExpectInts(node, AttrName::kDilation, rank, 1));
  STOKER_RETURN_IF_ERROR(ExpectInts(node, AttrName::kPadLow, rank, 0));
  STOKER_RETURN_IF_ERROR(ExpectInts(node, AttrName::kPadHigh, rank, 0));
  std::vector<SymDim> shape;
  for (std::size_t i = 0; i < static_cast<std::size_t>(rank); ++i) {
    shape.push_back(WindowedSize({.size = operand.shape.dims()[i],
                                  .window = node.attributes.Ints(AttrName::kWindow)[i],
                                  .stride = node.attributes.Ints(AttrName::kStrides)[i],
                                  .pad_low = node.attributes.Ints(AttrName::kPadLow)[i],
                                  .pad_high = node.attributes.Ints(AttrName::kPadHigh)[i],
                                  .dilation = node.attributes.Ints(AttrName::kDilation)[i]}));
  }
  return TensorType{operand.dtype, std::move(shape)};
}

Result<TensorType> InferCumulative(const NodeTypes& node) {
  STOKER_RETURN_IF_ERROR(ExpectCombine(node));
  STOKER_RETURN_IF_ERROR(ExpectDim(node, AttrName::kDim, node.operands[0].shape.rank()));
  return node.operands[0];
}

Result<TensorType> Infer(const NodeTypes& node) {
  if (node.kind == OpKind::kReduce) return InferReduce(node);
  if (node.kind == OpKind::kArgReduce) return InferArgReduce(node);
  if (node.kind == OpKind::kReduceWindow) return InferReduceWindow(node);
  STOKER_CHECK(node.kind == OpKind::kCumulative);
  return InferCumulative(node);
}

}  // namespace

Result<std::vector<TensorType>> InferReduction(const NodeTypes& node) {
  STOKER_TRY(TensorType type, Infer(node));
  return std::vector<TensorType>{std::move(type)};
}

SymDim WindowedSize(const WindowedDim& dim) {
  const SymDim covered = (dim.window - 1) * dim.dilation + 1;
  SymDim size = dim.size;
  if (dim.base_dilation != SymDim(1) && size != SymDim(0)) {
    size = (size - 1) * dim.base_dilation + 1;
  }
  return SymDim::FloorDiv(size + dim.pad_low + dim.pad_high - covered, dim.stride) + 1;
}

}  // namespace stoker
