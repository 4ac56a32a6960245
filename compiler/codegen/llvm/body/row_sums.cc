#include "compiler/codegen/llvm/body/row_sums.h"

#include <algorithm>
#include <vector>

namespace stoker::codegen {
namespace {

bool IsZero(const BodyInstr& instr) { return instr.op == BodyOp::kConstant && instr.constant == 0; }

}  // namespace

RowSums::RowSums(const LoopFunc& func) {
  for (const Stage& stage : func.stages) {
    std::vector<bool> is_of_sums;
    for (const BodyInstr& instr : stage.body.instrs) {
      is_of_sums.push_back(
          (instr.op == BodyOp::kInput && sums.contains(instr.input)) ||
          (instr.op == BodyOp::kPointwise &&
           std::ranges::any_of(instr.args, [&](std::uint32_t arg) { return is_of_sums[arg]; })));
    }
    for (const Temporary& kept : stage.temporaries) {
      if (is_of_sums[kept.value]) sums.insert(kept.id);
      if (IsExponential(stage.body, kept.value)) exponentials.insert(kept.id);
    }
    for (const Reduction& reduction : stage.reductions) {
      if (reduction.kind == Combine::kAdd && !reduction.is_arg) sums.insert(reduction.id);
    }
  }
}

bool RowSums::IsExponential(const Body& body, std::uint32_t instr) const {
  const BodyInstr& value = body.instrs[instr];
  if (value.op == BodyOp::kInput) return exponentials.contains(value.input);
  if (value.op != BodyOp::kPointwise || value.dtype != DType::kF32) return false;
  if (value.pointwise == OpKind::kSelect) {
    const auto is_one = [&](std::uint32_t arg) {
      return IsZero(body.instrs[arg]) || IsExponential(body, arg);
    };
    return is_one(value.args[1]) && is_one(value.args[2]);
  }
  return value.pointwise == OpKind::kExponential || value.pointwise == OpKind::kExponential2;
}

}  // namespace stoker::codegen
