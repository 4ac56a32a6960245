// From the number of a task to the rows and panels that it and those after it stand for. See
// ContractionPlan for how tasks are numbered.
#include <llvm/IR/Intrinsics.h>

#include <cstddef>

#include "compiler/codegen/x86/contraction/contraction_emitter.h"
#include "protocol/artifact/kernel_abi.h"

namespace stoker::codegen {
namespace {

// What a panel costs that another block of rows reads again, in copies of a step's rows.
constexpr double kPanelPerCopy = 0.5;

}  // namespace

// Steps of a block of rows. Rows that are copied are copied by each thread that works on them, and
// every panel is read for each block: with n tasks for each of several threads, blocks of s steps
// cost each thread s copies and n / s panels. All blocks but the last have as many.
llvm::Value* ContractionEmitter::StepsOfBlocks() {
  llvm::IRBuilder<>& b = e_.b();
  llvm::Value* most = e_.I64(plan_.steps_per_block);
  if (plan_.steps_per_block == 1) return most;
  llvm::Value* one = e_.I64(1);
  llvm::Value* steps = e_.Dim(plan_.steps);
  const auto in_equal = [&](llvm::Value* blocks) {
    return Max(b.CreateUDiv(e_.Add(steps, e_.Sub(blocks, one)), blocks), one);
  };
  if (!plan_.steps.IsConstant()) most = in_equal(Max(e_.DivUp(steps, plan_.steps_per_block), one));
  if (plan_.lhs == LhsCopy::kNone) return most;
  llvm::Value* threads = b.CreateAlignedLoad(
      b.getInt64Ty(), e_.HeaderWord(offsetof(ScratchHeader, threads)), llvm::Align(8));
  llvm::Value* tasks = e_.Mul(e_.Mul(e_.Dim(plan_.batch), steps), e_.Dim(plan_.panels));
  const auto number = [&](llvm::Value* value) { return b.CreateSIToFP(value, b.getDoubleTy()); };
  llvm::Value* share = b.CreateFDiv(number(tasks), number(threads));
  share = b.CreateFMul(share, llvm::ConstantFP::get(b.getDoubleTy(), kPanelPerCopy));
  llvm::Value* wanted =
      b.CreateFPToSI(b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, share), b.getInt64Ty());
  wanted = e_.Min(Max(wanted, one), most);
  llvm::Value* equal = e_.Min(in_equal(Max(b.CreateUDiv(steps, wanted), one)), most);
  return b.CreateSelect(b.CreateICmpSGT(threads, one), equal, most);
}

// The task and those that follow it in its panel, or its group of panels, up to the call's end.
Tasks ContractionEmitter::TasksAt(llvm::Value* task) {
  llvm::Value* steps = e_.Dim(plan_.steps);
  llvm::Value* panels = e_.Dim(plan_.panels);
  Values in_batch = {e_.I64(0), task};
  if (!(plan_.batch == SymDim(1))) {
    in_batch = e_.Unflatten(task, {e_.Dim(plan_.batch), e_.Mul(steps, panels)});
  }
  Tasks tasks;
  llvm::Value* in_block = in_batch[1];
  llvm::Value* block_steps = steps;
  llvm::Value* first_step = e_.I64(0);
  auto* constant = llvm::dyn_cast<llvm::ConstantInt>(block_steps_);
  const bool is_one = constant != nullptr && plan_.steps.IsConstant() &&
                      plan_.steps.constant() <= constant->getSExtValue();
  if (!is_one) {
    llvm::Value* block_tasks = e_.Mul(block_steps_, panels);
    llvm::Value* block = e_.b().CreateUDiv(in_batch[1], block_tasks);
    in_block = e_.Sub(in_batch[1], e_.Mul(block, block_tasks));
    first_step = e_.Mul(block, block_steps_);
    const bool is_even = constant != nullptr && plan_.steps.IsConstant() &&
                         plan_.steps.constant() % constant->getSExtValue() == 0;
    block_steps = is_even ? block_steps_ : e_.Min(block_steps_, e_.Sub(steps, first_step));
  }
  tasks.block = e_.Sub(task, in_block);
  llvm::Value* units = e_.Dim(plan_.units);
  tasks.block_unit = e_.Mul(first_step, e_.I64(plan_.units_per_step));
  tasks.block_end = units;
  if (!is_one) {
    tasks.block_end =
        e_.Min(e_.Add(tasks.block_unit, e_.Mul(block_steps, e_.I64(plan_.units_per_step))), units);
  }
  llvm::Value* left = e_.Sub(e_.TaskEnd(), task);
  if (plan_.chunk == 0) {
    PlaceInPanel(tasks, in_block, block_steps, left);
  } else {
    PlaceInGroup(tasks, in_block, block_steps, left);
  }
  PlaceBatch(tasks, in_batch[0]);
  return tasks;
}

// `steps`: of the block.
void ContractionEmitter::PlaceInPanel(Tasks& tasks, llvm::Value* in_block, llvm::Value* steps,
                                      llvm::Value* left) {
  const Values at = e_.Unflatten(in_block, {e_.Dim(plan_.panels), steps});
  const auto unit_of = [&](llvm::Value* step) {
    return e_.Add(tasks.block_unit, e_.Mul(step, e_.I64(plan_.units_per_step)));
  };
  tasks.count = e_.Min(left, e_.Sub(steps, at[1]));
  tasks.group = at[0];
  tasks.first_panel = at[0];
  tasks.end_panel = e_.Add(at[0], e_.I64(1));
  tasks.first_unit = unit_of(at[1]);
  tasks.last_unit = e_.Min(unit_of(e_.Add(at[1], tasks.count)), tasks.block_end);
}

void ContractionEmitter::PlaceInGroup(Tasks& tasks, llvm::Value* in_block, llvm::Value* steps,
                                      llvm::Value* left) {
  llvm::IRBuilder<>& b = e_.b();
  const auto unit_of = [&](llvm::Value* step) {
    return e_.Add(tasks.block_unit, e_.Mul(step, e_.I64(plan_.units_per_step)));
  };
  llvm::Value* group_tasks = e_.Mul(steps, e_.I64(plan_.panels_per_group));
  llvm::Value* group = b.CreateUDiv(in_block, group_tasks);
  llvm::Value* first = e_.Sub(in_block, e_.Mul(group, group_tasks));
  tasks.group = e_.Mul(group, e_.I64(plan_.panels_per_group));
  llvm::Value* panels =
      e_.Min(e_.I64(plan_.panels_per_group), e_.Sub(e_.Dim(plan_.panels), tasks.group));
  tasks.count = e_.Min(left, e_.Sub(e_.Mul(panels, steps), first));
  llvm::Value* last = e_.Sub(e_.Add(first, tasks.count), e_.I64(1));
  llvm::Value* first_panel = b.CreateUDiv(first, steps);
  llvm::Value* last_panel = b.CreateUDiv(last, steps);
  tasks.first_panel = e_.Add(tasks.group, first_panel);
  tasks.end_panel = e_.Add(tasks.group, e_.Add(last_panel, e_.I64(1)));
  tasks.first_unit = unit_of(e_.Sub(first, e_.Mul(first_panel, steps)));
  llvm::Value* end_step = e_.Add(e_.Sub(last, e_.Mul(last_panel, steps)), e_.I64(1));
  tasks.last_unit = e_.Min(unit_of(end_step), tasks.block_end);
}

void ContractionEmitter::PlaceBatch(Tasks& tasks, llvm::Value* batch) {
  Values extents;
  for (const ContractionBatchDim& dim : func_.batch) extents.push_back(e_.Dim(dim.extent));
  tasks.batch = e_.Unflatten(batch, extents);
  llvm::Value* lhs = e_.Dim(func_.lhs_offset);
  llvm::Value* rhs = e_.I64(0);
  for (std::size_t i = 0; i < func_.batch.size(); ++i) {
    const ContractionBatchDim& dim = func_.batch[i];
    lhs = e_.Add(lhs, e_.Mul(tasks.batch[i], e_.Dim(dim.lhs_stride)));
    if (dim.rhs_has) rhs = e_.Add(e_.Mul(rhs, extents[i]), tasks.batch[i]);
  }
  rhs = e_.Mul(e_.Mul(rhs, e_.Dim(plan_.panels)), e_.Dim(plan_.panel_stride));
  tasks.rhs = AddBytes(e_.Buffer(kRhs), rhs);
  tasks.lhs = AddBytes(e_.Buffer(kLhs), e_.Mul(lhs, e_.I64(SizeInBytes(func_.lhs_dtype))));
  tasks.lhs_row = e_.I64(0);
}

}  // namespace stoker::codegen
