#include "compiler/ir/attention_func.h"

#include "compiler/ir/text.h"

namespace stoker {
namespace {

std::string OperandText(const char* name, const AttentionOperand& operand) {
  std::vector<SymDim> strides(operand.strides.begin(), operand.strides.end());
  return std::string("  ") + name + " " + std::string(Name(operand.dtype)) + " offset " +
         operand.offset.ToString() + " strides " + ListText(strides) + "\n";
}

}  // namespace

std::uint32_t NumOperands(const AttentionFunc& func) { return func.has_mask ? 5 : 4; }

std::string ToString(const AttentionFunc& func) {
  std::string text = "attention {\n  batch " + func.batch.ToString() + " heads " +
                     func.heads.ToString() + " kv_heads " + func.kv_heads.ToString() + " queries " +
                     func.queries.ToString() + " keys " + func.keys.ToString() + "\n  head_dim " +
                     std::to_string(func.head_dim) + " value_dim " +
                     std::to_string(func.value_dim) + " scale " + FloatText(func.scale);
  if (func.causal) text += " causal";
  text += "\n" + OperandText("q", func.q) + OperandText("k", func.k) + OperandText("v", func.v) +
          OperandText("out", func.out);
  if (func.has_mask) text += OperandText("mask", func.mask);
  return text + "}\n";
}

Status Verify(const AttentionFunc& func) {
  if (func.head_dim < 1 || func.value_dim < 1) {
    return InvalidArgument("attention: head dims are " + std::to_string(func.head_dim) + " and " +
                           std::to_string(func.value_dim) + ".");
  }
  for (const AttentionOperand* operand : {&func.q, &func.k, &func.v, &func.out}) {
    if (!IsFloat(operand->dtype)) {
      return InvalidArgument("attention: operand of dtype " + std::string(Name(operand->dtype)) +
                             ".");
    }
  }
  if (func.has_mask && !IsFloat(func.mask.dtype) && func.mask.dtype != DType::kBool) {
    return InvalidArgument("attention: mask of dtype " + std::string(Name(func.mask.dtype)) + ".");
  }
  return Ok();
}

}  // namespace stoker
