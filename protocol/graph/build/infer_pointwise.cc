#include "protocol/graph/build/infer.h"

namespace stoker {
namespace {

Result<DType> ConvertedDType(const NodeTypes& node) {
  STOKER_TRY(const TensorType hint, ExpectHint(node));
  const DType from = node.operands[0].dtype;
  if (node.kind == OpKind::kBitcastConvert && SizeInBytes(hint.dtype) != SizeInBytes(from)) {
    return InvalidArgument("Result 0 is given as " + hint.ToString() + "; expected a dtype of " +
                           std::to_string(SizeInBytes(from)) + " bytes as operand 0.");
  }
  return hint.dtype;
}

Status CheckSelect(const NodeTypes& node) {
  const TensorType& predicate = node.operands[0];
  const TensorType expected{DType::kBool, node.operands[1].shape};
  if (predicate != expected) return OperandError(0, predicate, expected.ToString());
  return ExpectSameType(node, 2, 1);
}

Status CheckOperands(const NodeTypes& node) {
  if (node.kind == OpKind::kSelect) return CheckSelect(node);
  for (std::size_t i = 1; i < node.operands.size(); ++i) {
    STOKER_RETURN_IF_ERROR(ExpectSameType(node, i, 0));
  }
  if (node.kind != OpKind::kCompare) return Ok();
  constexpr std::string_view kDirections[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
  return ExpectOneOf(node, AttrName::kDirection, kDirections);
}

}  // namespace

Result<std::vector<TensorType>> InferPointwise(const NodeTypes& node) {
  STOKER_RETURN_IF_ERROR(CheckOperands(node));
  TensorType type = node.operands.back();
  const ResultRule rule = RowOf(node.kind).result;
  if (rule == ResultRule::kBool) type.dtype = DType::kBool;
  if (rule == ResultRule::kHinted) {
    STOKER_TRY(type.dtype, ConvertedDType(node));
  }
  return std::vector<TensorType>{std::move(type)};
}

}  // namespace stoker
