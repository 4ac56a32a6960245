#include "compiler/ir/loop_func.h"

#include <algorithm>
#include <map>

#include "compiler/ir/body_verifier.h"
#include "compiler/ir/text.h"

namespace stoker {
namespace {

// What later stages can read: a reduction or a temporary of an earlier stage.
struct Row {
  DType dtype = DType::kF32;
  std::vector<int> dims;  // The loop dims it varies over.
};

Status VerifyLoops(const LoopFunc& func, const Stage& stage) {
  const int num_dims = static_cast<int>(func.dims.size());
  for (std::size_t i = 0; i < stage.loops.size(); ++i) {
    const int dim = stage.loops[i];
    if (dim < func.num_outer || dim >= num_dims) {
      return InvalidArgument("loop over dim " + std::to_string(dim) +
                             ", which is not an inner one.");
    }
    if (std::count(stage.loops.begin(), stage.loops.end(), dim) != 1) {
      return InvalidArgument("loop over dim " + std::to_string(dim) + " twice.");
    }
  }
  // Only the outer dims and the stage's own loops have an index here.
  const auto usable = [&](int dim) { return dim < func.num_outer || Contains(stage.loops, dim); };
  const auto verify = [&](const IndexMap& index) -> Status {
    for (const IndexTerm& term : index.terms) {
      if (!usable(term.dim)) {
        return InvalidArgument("dim " + std::to_string(term.dim) + " is not a loop of this stage.");
      }
    }
    return Ok();
  };
  for (const BodyInstr& instr : stage.body.instrs) {
    if (instr.op == BodyOp::kLoad) STOKER_RETURN_IF_ERROR(verify(instr.access.index));
    if (instr.op == BodyOp::kIndex && !usable(instr.dim)) {
      return InvalidArgument("dim " + std::to_string(instr.dim) + " is not a loop of this stage.");
    }
  }
  for (const Store& store : stage.stores) STOKER_RETURN_IF_ERROR(verify(store.access.index));
  return Ok();
}

Status VerifyStage(const LoopFunc& func, const Stage& stage, std::map<std::uint32_t, Row>& rows) {
  STOKER_RETURN_IF_ERROR(VerifyLoops(func, stage));
  BodyContext context;
  context.num_dims = static_cast<int>(func.dims.size());
  context.operands = &func.operands;
  context.input = [&](std::uint32_t id) -> std::optional<DType> {
    const auto row = rows.find(id);
    if (row == rows.end()) return std::nullopt;
    for (const int dim : row->second.dims) {
      if (!Contains(stage.loops, dim)) return std::nullopt;
    }
    return row->second.dtype;
  };
  STOKER_RETURN_IF_ERROR(VerifyBody(stage.body, context));
  STOKER_RETURN_IF_ERROR(VerifyStores(stage.stores, stage.body, context));
  const auto define = [&](std::uint32_t id, Row row) -> Status {
    if (rows.emplace(id, std::move(row)).second) return Ok();
    return InvalidArgument("id " + std::to_string(id) + " is defined twice.");
  };
  for (const Temporary& temporary : stage.temporaries) {
    if (temporary.value >= stage.body.instrs.size() ||
        stage.body.instrs[temporary.value].dtype != temporary.dtype) {
      return InvalidArgument("temporary " + std::to_string(temporary.id) + " has no such value.");
    }
    STOKER_RETURN_IF_ERROR(define(temporary.id, {temporary.dtype, stage.loops}));
  }
  for (const Reduction& reduction : stage.reductions) {
    const std::string name = "reduction " + std::to_string(reduction.id);
    if (reduction.value >= stage.body.instrs.size() ||
        stage.body.instrs[reduction.value].dtype != reduction.dtype) {
      return InvalidArgument(name + " has no such value.");
    }
    if (!Has(reduction.is_arg ? OpKind::kArgReduce : OpKind::kReduce, reduction.kind)) {
      return InvalidArgument(name + " has kind " + std::string(Name(reduction.kind)) + ".");
    }
    Row row;
    row.dtype = reduction.is_arg ? DType::kI64 : reduction.dtype;
    for (const int dim : reduction.over) {
      if (!Contains(stage.loops, dim)) {
        return InvalidArgument(name + " is over dim " + std::to_string(dim) + ", not a loop.");
      }
    }
    for (const int dim : stage.loops) {
      if (!Contains(reduction.over, dim)) row.dims.push_back(dim);
    }
    STOKER_RETURN_IF_ERROR(define(reduction.id, std::move(row)));
  }
  return Ok();
}

std::string StageText(const Stage& stage) {
  std::string text = "stage loops " + ListText(stage.loops) + " {\n";
  text += Indent(ToString(stage.body), 2);
  for (const Store& store : stage.stores) text += "  " + ToString(store) + "\n";
  for (const Temporary& temporary : stage.temporaries) {
    text += "  temporary " + std::to_string(temporary.id) + " = " +
            std::string(Name(temporary.dtype)) + " %" + std::to_string(temporary.value) + "\n";
  }
  for (const Reduction& reduction : stage.reductions) {
    text += "  reduction " + std::to_string(reduction.id) + " = " +
            std::string(Name(reduction.dtype)) + " " + (reduction.is_arg ? "arg_" : "") +
            std::string(Name(reduction.kind)) + " %" + std::to_string(reduction.value) + " over " +
            ListText(reduction.over) + "\n";
  }
  return text + "}\n";
}

}  // namespace

std::string ToString(const LoopFunc& func) {
  std::string text = "loop dims " + ListText(func.dims) + " outer " +
                     std::to_string(func.num_outer) + " {\n" + OperandsText(func.operands);
  for (const Stage& stage : func.stages) text += Indent(StageText(stage), 2);
  return text + "}\n";
}

Status Verify(const LoopFunc& func) {
  if (func.num_outer < 0 || static_cast<std::size_t>(func.num_outer) > func.dims.size()) {
    return InvalidArgument("loop function has " + std::to_string(func.num_outer) +
                           " outer dims of " + std::to_string(func.dims.size()) + ".");
  }
  std::map<std::uint32_t, Row> rows;
  for (std::size_t i = 0; i < func.stages.size(); ++i) {
    if (auto status = VerifyStage(func, func.stages[i], rows); !status.ok()) {
      return status.error().WithContext("loop function, stage " + std::to_string(i));
    }
  }
  return Ok();
}

}  // namespace stoker
