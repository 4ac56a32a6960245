#include "protocol/graph/infer.h"

namespace stoker {
namespace {

DTypeSet AcceptedDTypes(OpKind kind) {
  switch (kind) {
    case OpKind::kAbs:
    case OpKind::kSign:
    case OpKind::kAdd:
    case OpKind::kSubtract:
    case OpKind::kMultiply:
    case OpKind::kDivide:
    case OpKind::kRemainder:
    case OpKind::kMaximum:
    case OpKind::kMinimum:
    case OpKind::kPower:
    case OpKind::kClamp:
      return kNumbers;
    case OpKind::kNegate:
      return static_cast<DTypeSet>(kFloats | kSigned);
    case OpKind::kNot:
    case OpKind::kAnd:
    case OpKind::kOr:
    case OpKind::kXor:
      return kBits;
    case OpKind::kShiftLeft:
    case OpKind::kShiftRightArithmetic:
    case OpKind::kShiftRightLogical:
      return kIntegers;
    case OpKind::kConvert:
    case OpKind::kBitcastConvert:
    case OpKind::kCompare:
    case OpKind::kSelect:
      return kAnyDType;
    case OpKind::kExponential:
    case OpKind::kExponential2:
    case OpKind::kExponentialMinusOne:
    case OpKind::kLog:
    case OpKind::kLog2:
    case OpKind::kLogPlusOne:
    case OpKind::kLogistic:
    case OpKind::kSqrt:
    case OpKind::kRsqrt:
    case OpKind::kSine:
    case OpKind::kCosine:
    case OpKind::kTan:
    case OpKind::kAsin:
    case OpKind::kAcos:
    case OpKind::kAtan:
    case OpKind::kSinh:
    case OpKind::kCosh:
    case OpKind::kTanh:
    case OpKind::kErf:
    case OpKind::kFloor:
    case OpKind::kCeil:
    case OpKind::kTrunc:
    case OpKind::kRoundNearestEven:
    case OpKind::kIsFinite:
    case OpKind::kIsNan:
    case OpKind::kAtan2:
      return kFloats;
    case OpKind::kConstant:
    case OpKind::kIota:
    case OpKind::kBroadcastInDim:
    case OpKind::kReshape:
    case OpKind::kTranspose:
    case OpKind::kSlice:
    case OpKind::kReverse:
    case OpKind::kPad:
    case OpKind::kConcatenate:
    case OpKind::kReduce:
    case OpKind::kArgReduce:
    case OpKind::kReduceWindow:
    case OpKind::kCumulative:
    case OpKind::kDotGeneral:
    case OpKind::kConvolution:
    case OpKind::kGather:
    case OpKind::kScatter:
    case OpKind::kDynamicSlice:
    case OpKind::kDynamicUpdateSlice:
    case OpKind::kSort:
    case OpKind::kTopK:
    case OpKind::kAttention:
    case OpKind::kExternCall:
      break;
  }
  return kAnyDType;
}

Result<DType> ConvertedDType(const NodeTypes& node) {
  STOKER_TRY(const TensorType hint, ExpectHint(node));
  const DType from = node.operands[0].dtype;
  if (node.kind == OpKind::kBitcastConvert && SizeInBytes(hint.dtype) != SizeInBytes(from)) {
    return InvalidArgument("Result 0 is given as " + hint.ToString() + "; expected a dtype of " +
                           std::to_string(SizeInBytes(from)) + " bytes as operand 0.");
  }
  return hint.dtype;
}

Result<TensorType> InferSelect(const NodeTypes& node) {
  const TensorType& predicate = node.operands[0];
  const TensorType& value = node.operands[1];
  const TensorType expected{DType::kBool, value.shape};
  if (predicate != expected) return OperandError(0, predicate, expected.ToString());
  STOKER_RETURN_IF_ERROR(ExpectSameType(node, 2, 1));
  return value;
}

Result<TensorType> Infer(const NodeTypes& node) {
  if (node.kind == OpKind::kSelect) return InferSelect(node);
  STOKER_RETURN_IF_ERROR(ExpectDType(node, 0, AcceptedDTypes(node.kind)));
  for (std::size_t i = 1; i < node.operands.size(); ++i) {
    STOKER_RETURN_IF_ERROR(ExpectSameType(node, i, 0));
  }
  TensorType type = node.operands[0];
  if (node.kind == OpKind::kConvert || node.kind == OpKind::kBitcastConvert) {
    STOKER_TRY(type.dtype, ConvertedDType(node));
  }
  if (node.kind == OpKind::kCompare) {
    STOKER_RETURN_IF_ERROR(
        ExpectOneOf(node, AttrName::kDirection, {"EQ", "NE", "LT", "LE", "GT", "GE"}));
    type.dtype = DType::kBool;
  }
  if (node.kind == OpKind::kIsFinite || node.kind == OpKind::kIsNan) type.dtype = DType::kBool;
  return type;
}

}  // namespace

Result<std::vector<TensorType>> InferPointwise(const NodeTypes& node) {
  STOKER_TRY(TensorType type, Infer(node));
  return std::vector<TensorType>{std::move(type)};
}

}  // namespace stoker
