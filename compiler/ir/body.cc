#include "compiler/ir/body.h"

#include "compiler/ir/text.h"
#include "protocol/graph/build/attribute_text.h"
#include "protocol/graph/op_table.h"

namespace stoker {
namespace {

std::string_view Name(CompareDirection direction) {
  switch (direction) {
    case CompareDirection::kEq:
      return "eq";
    case CompareDirection::kNe:
      return "ne";
    case CompareDirection::kLt:
      return "lt";
    case CompareDirection::kLe:
      return "le";
    case CompareDirection::kGt:
      return "gt";
    case CompareDirection::kGe:
      return "ge";
  }
  return "?";
}

std::string ArgsText(const std::vector<std::uint32_t>& args) {
  std::string text;
  for (const std::uint32_t arg : args) {
    text += (text.empty() ? "%" : ", %") + std::to_string(arg);
  }
  return text;
}

std::string InstrText(const BodyInstr& instr) {
  switch (instr.op) {
    case BodyOp::kInput:
      return "input " + std::to_string(instr.input);
    case BodyOp::kConstant:
      return "constant " + (IsFloat(instr.dtype) ? FloatText(instr.constant)
                                                 : std::to_string(instr.int_constant));
    case BodyOp::kIndex:
      return "index i" + std::to_string(instr.dim);
    case BodyOp::kSize:
      return "size " + instr.size.ToString();
    case BodyOp::kLoad: {
      std::string text = "load " + AccessText(instr.access);
      if (!instr.args.empty()) text += " " + ArgsText(instr.args);
      if (instr.has_predicate) text += " predicated";
      return text;
    }
    case BodyOp::kPointwise: {
      std::string text(stoker::Name(instr.pointwise));
      if (instr.pointwise == OpKind::kCompare) text += " " + std::string(Name(instr.direction));
      if (instr.pointwise == OpKind::kRequire) {
        text += ' ';
        AppendQuoted(instr.message, text);
      }
      const bool rounds = instr.pointwise == OpKind::kConvert ||
                          instr.pointwise == OpKind::kBitcastConvert ||
                          RowOf(instr.pointwise).f32_in == DType::kF64;
      if (rounds && (instr.round_to == DType::kF16 || instr.round_to == DType::kBF16)) {
        text += " " + std::string(stoker::Name(instr.round_to));
      }
      return text + " " + ArgsText(instr.args);
    }
  }
  return "?";
}

}  // namespace

std::string ToString(const Body& body) {
  std::string text;
  for (std::size_t i = 0; i < body.instrs.size(); ++i) {
    const BodyInstr& instr = body.instrs[i];
    text += "%" + std::to_string(i) + " = " + std::string(Name(instr.dtype)) + " " +
            InstrText(instr) + "\n";
  }
  return text;
}

std::string ToString(const Store& store) {
  return "store %" + std::to_string(store.value) + " -> " + AccessText(store.access);
}

}  // namespace stoker
