#include "tests/unit/compiler/codegen/body_builder.h"

#include "compiler/ir/body_verifier.h"

namespace stoker {

IndexMap Affine(std::initializer_list<std::pair<int, SymDim>> terms, SymDim offset) {
  IndexMap index;
  index.offset = std::move(offset);
  for (const auto& [dim, coefficient] : terms) index.terms.push_back({dim, coefficient, 1, 0});
  return index;
}

Access At(std::uint32_t operand, DType dtype, IndexMap index) {
  return {operand, dtype, std::move(index), {}};
}

std::uint32_t BodyBuilder::Append(BodyInstr instr) {
  body_.instrs.push_back(std::move(instr));
  return static_cast<std::uint32_t>(body_.instrs.size() - 1);
}

std::uint32_t BodyBuilder::Input(std::uint32_t id, DType dtype) {
  BodyInstr instr;
  instr.op = BodyOp::kInput;
  instr.dtype = dtype;
  instr.input = id;
  return Append(std::move(instr));
}

std::uint32_t BodyBuilder::Constant(DType dtype, double value) {
  BodyInstr instr;
  instr.op = BodyOp::kConstant;
  instr.dtype = dtype;
  instr.constant = value;
  if (!IsFloat(dtype)) instr.int_constant = static_cast<std::int64_t>(value);
  return Append(std::move(instr));
}

std::uint32_t BodyBuilder::Index(int dim) {
  BodyInstr instr;
  instr.op = BodyOp::kIndex;
  instr.dtype = DType::kI64;
  instr.dim = dim;
  return Append(std::move(instr));
}

std::uint32_t BodyBuilder::Load(Access access, std::vector<std::uint32_t> indirect) {
  BodyInstr instr;
  instr.op = BodyOp::kLoad;
  instr.dtype = ComputeType(access.dtype);
  instr.access = std::move(access);
  instr.args = std::move(indirect);
  return Append(std::move(instr));
}

void BodyBuilder::SetPredicated(std::uint32_t load, bool predicated) {
  body_.instrs[load].has_predicate = predicated;
}

std::uint32_t BodyBuilder::Op(OpKind kind, std::vector<std::uint32_t> args) {
  BodyInstr instr;
  instr.op = BodyOp::kPointwise;
  instr.pointwise = kind;
  instr.dtype = body_.instrs[args.back()].dtype;
  if (kind == OpKind::kIsNan || kind == OpKind::kIsFinite) instr.dtype = DType::kBool;
  instr.args = std::move(args);
  return Append(std::move(instr));
}

std::uint32_t BodyBuilder::Compare(CompareDirection direction, std::uint32_t x, std::uint32_t y) {
  const std::uint32_t compare = Op(OpKind::kCompare, {x, y});
  body_.instrs[compare].dtype = DType::kBool;
  body_.instrs[compare].direction = direction;
  return compare;
}

std::uint32_t BodyBuilder::Convert(DType to, std::uint32_t x, DType round_to) {
  const std::uint32_t convert = Op(OpKind::kConvert, {x});
  body_.instrs[convert].dtype = to;
  body_.instrs[convert].round_to = round_to;
  return convert;
}

}  // namespace stoker
