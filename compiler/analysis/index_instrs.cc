#include "compiler/analysis/index_instrs.h"

#include <optional>

namespace stoker {

std::uint32_t Append(Body& body, BodyInstr instr) {
  body.instrs.push_back(std::move(instr));
  return static_cast<std::uint32_t>(body.instrs.size() - 1);
}

std::uint32_t AppendSize(Body& body, const SymDim& size) {
  BodyInstr instr;
  instr.dtype = DType::kI64;
  if (size.IsConstant()) {
    instr.int_constant = size.constant();
  } else {
    instr.op = BodyOp::kSize;
    instr.size = size;
  }
  return Append(body, std::move(instr));
}

std::uint32_t AppendIndex(Body& body, int dim) {
  BodyInstr instr;
  instr.op = BodyOp::kIndex;
  instr.dtype = DType::kI64;
  instr.dim = dim;
  return Append(body, std::move(instr));
}

std::uint32_t AppendIndexMap(Body& body, const IndexMap& map,
                             const std::function<std::uint32_t(int dim)>& value_of) {
  const auto combine = [&](OpKind kind, std::uint32_t a, std::uint32_t b) {
    BodyInstr instr;
    instr.op = BodyOp::kPointwise;
    instr.dtype = DType::kI64;
    instr.pointwise = kind;
    instr.args = {a, b};
    return Append(body, std::move(instr));
  };
  std::optional<std::uint32_t> sum;
  for (const IndexTerm& term : map.terms) {
    std::uint32_t value = value_of(term.dim);
    const auto apply = [&](OpKind kind, const SymDim& by) {
      value = combine(kind, value, AppendSize(body, by));
    };
    if (term.divisor != 1) apply(OpKind::kDivide, term.divisor);
    if (term.modulus != 0) apply(OpKind::kRemainder, term.modulus);
    if (term.coefficient != SymDim(1)) apply(OpKind::kMultiply, term.coefficient);
    sum = sum ? combine(OpKind::kAdd, *sum, value) : value;
  }
  if (!sum) return AppendSize(body, map.offset);
  if (map.offset == SymDim(0)) return *sum;
  return combine(OpKind::kAdd, *sum, AppendSize(body, map.offset));
}

}  // namespace stoker
