#include <array>

#include "protocol/graph/build/infer.h"

namespace stoker {

Result<std::vector<TensorType>> InferRandom(const NodeTypes& node) {
  constexpr std::array<std::string_view, 1> kAlgorithms = {"PHILOX"};
  STOKER_RETURN_IF_ERROR(ExpectOneOf(node, AttrName::kAlgorithm, kAlgorithms));
  const TensorType& state = node.operands[0];
  if (state != TensorType{DType::kI64, {2}} && state != TensorType{DType::kI64, {3}}) {
    return OperandError(0, state, "i64[2] or i64[3]");
  }
  if (node.hints.size() != 2) {
    return InvalidArgument("It is given " + std::to_string(node.hints.size()) +
                           " result types; expected 2.");
  }
  const TensorType& bits = node.hints[1];
  if (bits.dtype != DType::kI32 && bits.dtype != DType::kI64) {
    return InvalidArgument("Result 1 is given as " + bits.ToString() +
                           "; expected elements of i32 or i64.");
  }
  return std::vector<TensorType>{state, bits};
}

}  // namespace stoker
