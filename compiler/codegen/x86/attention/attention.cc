#include <limits>

#include "compiler/codegen/x86/attention/attention_emitter.h"
#include "compiler/codegen/x86/attention/emit_attention.h"
#include "compiler/schedule/cpu/attention_plan.h"

namespace stoker::codegen {
namespace {

constexpr std::uint32_t kOut = 3;

}  // namespace

llvm::Value* AttentionEmitter::AddElements(llvm::Value* pointer, DType dtype,
                                           llvm::Value* elements) {
  return e_.ElementPointer(pointer, dtype, elements);
}

llvm::LoadInst* AttentionEmitter::LoadScratch(llvm::Type* type, llvm::Value* pointer) {
  llvm::LoadInst* load = e_.b().CreateAlignedLoad(type, pointer, llvm::Align(4));
  e_.TagAccess(load, KernelEmitter::kScratch);
  return load;
}

void AttentionEmitter::StoreScratch(llvm::Value* value, llvm::Value* pointer) {
  e_.TagAccess(e_.b().CreateAlignedStore(value, pointer, llvm::Align(4)), KernelEmitter::kScratch);
}

llvm::Value* AttentionEmitter::OffsetOf(const AttentionOperand& operand, llvm::Value* batch,
                                        llvm::Value* head) {
  llvm::Value* offset = e_.Add(e_.Dim(operand.offset), e_.Mul(batch, e_.Dim(operand.strides[0])));
  return e_.Add(offset, e_.Mul(head, e_.Dim(operand.strides[1])));
}

void AttentionEmitter::Emit() {
  if (plan_.amx) {
    tiles_.Begin();
    tiles_.Configure(e_.I64(AmxTiles::kRows), e_.I64(AmxTiles::kRows));
  }
  e_.ForEachTask([&](llvm::Value* number) { EmitTask(number); });
  if (plan_.amx) tiles_.End();
}

void AttentionEmitter::EmitTask(llvm::Value* number) {
  llvm::IRBuilder<>& b = e_.b();
  const Values at = e_.Unflatten(number, {e_.Dim(func_.batch), e_.Dim(func_.kv_heads),
                                          e_.Dim(plan_.group), e_.Dim(plan_.query_blocks)});
  Task task;
  task.batch = at[0];
  task.kv_head = at[1];
  task.head = e_.Add(e_.Mul(at[1], e_.Dim(plan_.group)), at[2]);
  task.first_query = e_.Mul(at[3], e_.I64(plan_.queries_per_task));
  task.queries =
      e_.Min(e_.Sub(e_.Dim(func_.queries), task.first_query), e_.I64(plan_.queries_per_task));

  const std::int64_t stats_bytes = plan_.queries_per_task * SizeInBytes(plan_.compute);
  const std::int64_t output_bytes = stats_bytes * plan_.value_dim;
  const auto fill = [&](std::int64_t offset, std::int64_t bytes, double value) {
    const std::int64_t step = plan_.lanes * SizeInBytes(plan_.compute);
    e_.For(e_.I64(0), e_.I64(bytes), step, [&](llvm::Value* i) {
      StoreScratch(e_.Splat(Number(value), plan_.lanes),
                   AddElements(e_.Scratch(offset), DType::kU8, i));
    });
  };
  fill(plan_.output_offset, output_bytes, 0);
  fill(plan_.maximum_offset, stats_bytes, -std::numeric_limits<double>::infinity());
  fill(plan_.sum_offset, stats_bytes, 0);

  llvm::Value* keys = e_.Dim(func_.keys);
  if (func_.causal) keys = e_.Min(keys, e_.Add(task.first_query, task.queries));
  const auto emit_block = [&](llvm::Value* first, bool shared) {
    KeyBlock block;
    block.first = first;
    // What is shared between tasks must hold all the keys that any of them needs.
    llvm::Value* end = shared ? e_.Dim(func_.keys) : keys;
    block.keys = e_.Min(e_.Sub(end, first), e_.I64(plan_.key_block));
    const auto stage = [&] {
      StageKeys(task, block);
      StageValues(task, block);
    };
    if (shared) {
      llvm::Value* sharers = e_.Dim(plan_.group * plan_.query_blocks);
      e_.If(e_.NoteInScratch(b.CreateUDiv(number, sharers)), stage);
    } else {
      stage();
    }
    e_.For(e_.I64(0), task.queries, plan_.tile_rows,
           [&](llvm::Value* tile) { EmitTile(task, block, tile); });
  };
  if (plan_.single_block) {
    emit_block(e_.I64(0), /*shared=*/true);
  } else {
    e_.For(e_.I64(0), keys, plan_.key_block,
           [&](llvm::Value* first) { emit_block(first, /*shared=*/false); });
  }
  EmitOutput(task);
}

void AttentionEmitter::EmitTile(const Task& task, const KeyBlock& block, llvm::Value* first) {
  llvm::IRBuilder<>& b = e_.b();
  Tile tile;
  tile.first = first;
  tile.rows = e_.Min(e_.Sub(task.queries, first), e_.I64(plan_.tile_rows));
  tile.keys = block.keys;
  if (func_.causal) {
    llvm::Value* end = e_.Add(e_.Add(task.first_query, first), tile.rows);
    tile.keys = e_.Min(tile.keys, e_.Sub(end, block.first));
  }
  tile.padded = e_.Mul(e_.DivUp(tile.keys, plan_.granule), e_.I64(plan_.granule));
  const auto emit = [&] {
    StageQueries(task, tile);
    Product scores;
    scores.target_pitch = plan_.key_block;
    scores.lhs = e_.Scratch(plan_.queries_offset);
    scores.lhs_pitch = plan_.head_dim;
    scores.depth = e_.I64(plan_.head_dim);
    e_.For(e_.I64(0), tile.keys, plan_.nr, [&](llvm::Value* key) {
      scores.target = AddElements(e_.Scratch(plan_.scores_offset), plan_.compute, key);
      scores.panel = AddElements(e_.Scratch(plan_.keys_offset), plan_.element,
                                 e_.Mul(key, e_.I64(plan_.head_dim)));
      EmitProduct(scores);
    });
    EmitSoftmax(task, block, tile);
    Product output;
    output.target_pitch = plan_.value_dim;
    output.lhs = e_.Scratch(plan_.probabilities_offset);
    output.lhs_pitch = plan_.key_block;
    output.depth = tile.padded;
    output.accumulate = true;
    llvm::Value* rows = AddElements(e_.Scratch(plan_.output_offset), plan_.compute,
                                    e_.Mul(first, e_.I64(plan_.value_dim)));
    e_.For(e_.I64(0), e_.I64(plan_.value_dim), plan_.nr, [&](llvm::Value* column) {
      output.target = AddElements(rows, plan_.compute, column);
      output.panel = AddElements(e_.Scratch(plan_.values_offset), plan_.element,
                                 e_.Mul(column, e_.I64(plan_.key_block)));
      EmitProduct(output);
    });
  };
  if (!func_.causal) {
    emit();
  } else {
    e_.If(b.CreateICmpSGT(tile.keys, e_.I64(0)), emit);
  }
}

void AttentionEmitter::EmitOutput(const Task& task) {
  llvm::IRBuilder<>& b = e_.b();
  llvm::Value* base = OffsetOf(func_.out, task.batch, task.head);
  llvm::Value* column_stride = e_.Dim(func_.out.strides[3]);
  e_.For(e_.I64(0), task.queries, 1, [&](llvm::Value* row) {
    llvm::Value* sum =
        LoadScratch(ComputeLane(), AddElements(e_.Scratch(plan_.sum_offset), plan_.compute, row));
    // Nothing kept: zeros rather than 0 / 0.
    llvm::Value* empty = b.CreateFCmpOEQ(sum, Number(0));
    llvm::Value* factor = b.CreateSelect(empty, Number(0), b.CreateFDiv(Number(1), sum));
    factor = e_.Splat(factor, plan_.lanes);
    llvm::Value* source = AddElements(e_.Scratch(plan_.output_offset), plan_.compute,
                                      e_.Mul(row, e_.I64(plan_.value_dim)));
    llvm::Value* query = e_.Add(task.first_query, row);
    llvm::Value* target = AddElements(e_.Buffer(kOut), func_.out.dtype,
                                      e_.Add(base, e_.Mul(query, e_.Dim(func_.out.strides[2]))));
    Values none;
    e_.ForLanes(
        e_.I64(0), e_.I64(func_.value_dim), plan_.lanes, 1, none,
        [&](llvm::Value* at, int, llvm::Value* mask, Values&) {
          llvm::Value* value = LoadScratch(ComputeVector(), AddElements(source, plan_.compute, at));
          value = b.CreateFMul(value, factor);
          if (func_.out.strides[3] == SymDim(1)) {
            e_.StoreLanes(kOut, func_.out.dtype, AddElements(target, func_.out.dtype, at), value,
                          mask);
            return;
          }
          llvm::Value* lanes =
              b.CreateAdd(e_.Splat(at, plan_.lanes), e_.Iota(b.getInt64Ty(), plan_.lanes));
          e_.ScatterLanes(kOut, func_.out.dtype, target,
                          b.CreateMul(lanes, e_.Splat(column_stride, plan_.lanes)), value, mask);
        });
  });
}

void EmitAttention(const AttentionFunc& func, const AttentionSchedule& schedule,
                   const std::vector<SymDim>& dims, const CpuMachine& machine,
                   llvm::Module& module) {
  const AttentionPlan plan = PlanAttention(func, schedule, machine);
  X86Emitter emitter(module, machine, dims, func.has_mask ? 5 : 4);
  AttentionEmitter(emitter, func, plan).Emit();
  emitter.Finish();
}

}  // namespace stoker::codegen
