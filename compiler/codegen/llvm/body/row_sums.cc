#include "compiler/codegen/llvm/body/row_sums.h"

#include <algorithm>
#include <vector>

namespace stoker::codegen {

std::set<std::uint32_t> RowSums(const LoopFunc& func) {
  std::set<std::uint32_t> sums;
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
    }
    for (const Reduction& reduction : stage.reductions) {
      if (reduction.kind == Combine::kAdd && !reduction.is_arg) sums.insert(reduction.id);
    }
  }
  return sums;
}

}  // namespace stoker::codegen
