#include <cmath>

#include "protocol/graph/build/infer.h"
#include "protocol/graph/build/window.h"

namespace stoker {
namespace {

constexpr int kMaxSpatialDims = 3;

Status ExpectEqualDims(const NodeTypes& node, AttrName lhs_name, AttrName rhs_name) {
  const std::vector<std::int64_t>& lhs = node.attributes.Ints(lhs_name);
  const std::vector<std::int64_t>& rhs = node.attributes.Ints(rhs_name);
  STOKER_RETURN_IF_ERROR(ExpectDims(node, lhs_name, node.operands[0].shape.rank()));
  STOKER_RETURN_IF_ERROR(ExpectDims(node, rhs_name, node.operands[1].shape.rank()));
  if (lhs.size() != rhs.size()) {
    return AttributeError(rhs_name, rhs,
                          "as many dimensions as '" + std::string(Name(lhs_name)) + "', " +
                              std::to_string(lhs.size()));
  }
  for (std::size_t i = 0; i < lhs.size(); ++i) {
    const SymDim& size = node.operands[0].shape[static_cast<int>(lhs[i])];
    if (node.operands[1].shape[static_cast<int>(rhs[i])] == size) continue;
    return OperandError(1, node.operands[1],
                        "dimension " + std::to_string(rhs[i]) + " to be " + size.ToString() +
                            " as dimension " + std::to_string(lhs[i]) + " of operand 0, " +
                            node.operands[0].ToString());
  }
  return Ok();
}

Result<TensorType> InferDotGeneral(const NodeTypes& node) {
  const Attributes& attributes = node.attributes;
  if (node.operands[1].dtype != node.operands[0].dtype) {
    return OperandError(1, node.operands[1],
                        std::string(Name(node.operands[0].dtype)) + " as operand 0");
  }
  STOKER_RETURN_IF_ERROR(ExpectEqualDims(node, AttrName::kLhsBatch, AttrName::kRhsBatch));
  STOKER_RETURN_IF_ERROR(ExpectEqualDims(node, AttrName::kLhsContract, AttrName::kRhsContract));
  std::vector<SymDim> shape;
  for (const std::int64_t dim : attributes.Ints(AttrName::kLhsBatch)) {
    shape.push_back(node.operands[0].shape[static_cast<int>(dim)]);
  }
  for (const auto& [operand, batch_name, contract_name] :
       {std::tuple(0U, AttrName::kLhsBatch, AttrName::kLhsContract),
        std::tuple(1U, AttrName::kRhsBatch, AttrName::kRhsContract)}) {
    const Shape& from = node.operands[operand].shape;
    const std::vector<std::int64_t>& batch = attributes.Ints(batch_name);
    const std::vector<std::int64_t>& contract = attributes.Ints(contract_name);
    for (int i = 0; i < from.rank(); ++i) {
      const bool is_batch = Contains(batch, i);
      const bool is_contract = Contains(contract, i);
      if (is_batch && is_contract) {
        return AttributeError(contract_name, contract,
                              "none of the dimensions in '" + std::string(Name(batch_name)) + "'");
      }
      if (!is_batch && !is_contract) shape.push_back(from[i]);
    }
  }
  return TensorType{node.operands[0].dtype, std::move(shape)};
}

Status CheckConvolutionChannels(const NodeTypes& node) {
  const TensorType& x = node.operands[0];
  const TensorType& w = node.operands[1];
  const std::int64_t groups = node.attributes.Int(AttrName::kGroups);
  if (groups < 1) return AttributeError(AttrName::kGroups, groups, "at least 1");
  if (w.shape[1] * groups != x.shape[1]) {
    return OperandError(1, w,
                        "dimension 1 times " + std::to_string(groups) +
                            " groups to be dimension 1 of operand 0, " + x.ToString());
  }
  if (SymDim::Mod(w.shape[0], groups) != SymDim(0)) {
    return OperandError(
        1, w, "dimension 0 to be a multiple of the " + std::to_string(groups) + " groups");
  }
  return Ok();
}

Result<TensorType> InferConvolution(const NodeTypes& node) {
  const TensorType& x = node.operands[0];
  const TensorType& w = node.operands[1];
  const Attributes& attributes = node.attributes;
  const int spatial = x.shape.rank() - 2;
  if (spatial < 1 || spatial > kMaxSpatialDims) return OperandError(0, x, "a rank of 3 to 5");
  if (w.dtype != x.dtype || w.shape.rank() != x.shape.rank()) {
    return OperandError(1, w, "the dtype and rank of operand 0, " + x.ToString());
  }
  STOKER_RETURN_IF_ERROR(ExpectInts(node, AttrName::kStrides, spatial, 1));
  STOKER_RETURN_IF_ERROR(ExpectInts(node, AttrName::kPadLow, spatial, INT64_MIN));
  STOKER_RETURN_IF_ERROR(ExpectInts(node, AttrName::kPadHigh, spatial, INT64_MIN));
  STOKER_RETURN_IF_ERROR(ExpectInts(node, AttrName::kDilation, spatial, 1));
  STOKER_RETURN_IF_ERROR(ExpectInts(node, AttrName::kLhsDilation, spatial, 1));
  STOKER_RETURN_IF_ERROR(CheckConvolutionChannels(node));
  std::vector<SymDim> shape = {x.shape[0], w.shape[0]};
  for (std::size_t i = 0; i < static_cast<std::size_t>(spatial); ++i) {
    const SymDim& window = w.shape.dims()[i + 2];
    if (window == SymDim(0)) return OperandError(1, w, "a window that is not empty");
    shape.push_back(WindowedSize({.size = x.shape.dims()[i + 2],
                                  .window = window,
                                  .stride = attributes.Ints(AttrName::kStrides)[i],
                                  .pad_low = attributes.Ints(AttrName::kPadLow)[i],
                                  .pad_high = attributes.Ints(AttrName::kPadHigh)[i],
                                  .dilation = attributes.Ints(AttrName::kDilation)[i],
                                  .base_dilation = attributes.Ints(AttrName::kLhsDilation)[i]}));
  }
  return TensorType{x.dtype, std::move(shape)};
}

Status CheckAttentionMask(const NodeTypes& node, const std::vector<SymDim>& scores) {
  const TensorType& mask = node.operands[3];
  const TensorType full{node.operands[0].dtype, scores};
  bool matches = (mask.dtype == DType::kBool || mask.dtype == full.dtype) && mask.shape.rank() == 4;
  for (int i = 0; matches && i < 4; ++i) {
    matches = mask.shape[i] == full.shape[i] || mask.shape[i] == SymDim(1);
  }
  if (matches) return Ok();
  return OperandError(3, mask, "bool or " + full.ToString() + ", where any dimension may be 1");
}

Result<TensorType> InferAttention(const NodeTypes& node) {
  if (node.operands.size() != 3 && node.operands.size() != 4) {
    return InvalidArgument("It has " + std::to_string(node.operands.size()) +
                           " operands; expected 3 or 4.");
  }
  const TensorType& q = node.operands[0];
  for (std::size_t i = 0; i < 3; ++i) {
    const TensorType& operand = node.operands[i];
    if (operand.dtype == q.dtype && operand.shape.rank() == 4) continue;
    return OperandError(i, operand, std::string(Name(q.dtype)) + " of rank 4");
  }
  const Shape& qs = q.shape;
  const Shape& ks = node.operands[1].shape;
  const Shape& vs = node.operands[2].shape;
  if (ks[0] != qs[0] || ks[3] != qs[3]) {
    return OperandError(1, node.operands[1], "dimensions 0 and 3 of operand 0, " + q.ToString());
  }
  if (vs[0] != ks[0] || vs[1] != ks[1] || vs[2] != ks[2]) {
    return OperandError(2, node.operands[2],
                        "dimensions 0 to 2 of operand 1, " + node.operands[1].ToString());
  }
  if (ks[1] == SymDim(0) || (ks[1] != qs[1] && SymDim::Mod(qs[1], ks[1]) != SymDim(0))) {
    return OperandError(1, node.operands[1],
                        "dimension 1 to divide the " + qs[1].ToString() + " heads of operand 0");
  }
  const double scale = node.attributes.Float(AttrName::kScale);
  if (!std::isfinite(scale)) return AttributeError(AttrName::kScale, scale, "a finite number");
  if (node.operands.size() == 4) {
    STOKER_RETURN_IF_ERROR(CheckAttentionMask(node, {qs[0], qs[1], qs[2], ks[2]}));
  }
  return TensorType{q.dtype, {qs[0], qs[1], qs[2], vs[3]}};
}

Result<TensorType> Infer(const NodeTypes& node) {
  if (node.kind == OpKind::kDotGeneral) return InferDotGeneral(node);
  if (node.kind == OpKind::kConvolution) return InferConvolution(node);
  STOKER_CHECK(node.kind == OpKind::kAttention);
  return InferAttention(node);
}

}  // namespace

Result<std::vector<TensorType>> InferContraction(const NodeTypes& node) {
  STOKER_TRY(TensorType type, Infer(node));
  return std::vector<TensorType>{std::move(type)};
}

}  // namespace stoker
