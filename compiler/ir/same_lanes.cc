#include "compiler/ir/same_lanes.h"

#include <algorithm>
#include <optional>

namespace stoker {
namespace {

// An index along the dim and so much, or, without the index, just so much.
struct Affine {
  bool has_index = false;
  std::int64_t offset = 0;
};

using Affines = std::vector<std::optional<Affine>>;

std::optional<Affine> AffineOf(const BodyInstr& instr, int dim, const Affines& before) {
  if (IsFloat(instr.dtype)) return std::nullopt;
  if (instr.op == BodyOp::kConstant) return Affine{false, instr.int_constant};
  if (instr.op == BodyOp::kIndex && instr.dim == dim) return Affine{true, 0};
  const bool adds = instr.pointwise == OpKind::kAdd;
  if (instr.op != BodyOp::kPointwise || instr.dtype != DType::kI64 ||
      (!adds && instr.pointwise != OpKind::kSubtract)) {
    return std::nullopt;
  }
  const std::optional<Affine>& x = before[instr.args[0]];
  const std::optional<Affine>& y = before[instr.args[1]];
  if (!x || !y || (y->has_index && (x->has_index || !adds))) return std::nullopt;
  return Affine{x->has_index || y->has_index, adds ? x->offset + y->offset : x->offset - y->offset};
}

// Is the answer one for all indices of a vector?
bool IsSameComparison(const BodyInstr& instr, const Affines& affines, int width) {
  if (instr.op != BodyOp::kPointwise || instr.pointwise != OpKind::kCompare) return false;
  const std::optional<Affine>& x = affines[instr.args[0]];
  const std::optional<Affine>& y = affines[instr.args[1]];
  if (!x || !y || x->has_index == y->has_index) return false;
  // index `direction` bound, or the other way round.
  const std::int64_t bound = x->has_index ? y->offset - x->offset : x->offset - y->offset;
  switch (instr.direction) {
    case CompareDirection::kLt:
    case CompareDirection::kGe:
      return (x->has_index ? bound : bound + 1) % width == 0;
    case CompareDirection::kLe:
    case CompareDirection::kGt:
      return (x->has_index ? bound + 1 : bound) % width == 0;
    case CompareDirection::kEq:
    case CompareDirection::kNe:
      return false;
  }
  return false;
}

}  // namespace

Run RunAlong(const Access& access, int dim) {
  Run run = Run::kNot;
  for (const IndexTerm& term : access.index.terms) {
    if (term.dim != dim) continue;
    const bool is_next =
        term.divisor == 1 && term.modulus == 0 && term.coefficient == SymDim(1) && run == Run::kNot;
    run = is_next ? Run::kContiguous : Run::kOtherwise;
  }
  return run;
}

std::vector<bool> SameInVectors(const Body& body, int dim, int width) {
  std::vector<bool> same;
  Affines affines;
  for (const BodyInstr& instr : body.instrs) {
    const bool of_same = std::ranges::all_of(instr.args, [&](auto arg) { return same[arg]; });
    const bool is_number = instr.op == BodyOp::kConstant || instr.op == BodyOp::kSize;
    affines.push_back(AffineOf(instr, dim, affines));
    same.push_back(
        is_number || (instr.op == BodyOp::kIndex && instr.dim != dim) ||
        (instr.op == BodyOp::kPointwise && of_same) ||
        (instr.op == BodyOp::kLoad && of_same && RunAlong(instr.access, dim) == Run::kNot) ||
        IsSameComparison(instr, affines, width));
  }
  return same;
}

}  // namespace stoker
