// AttentionEmitter: the attention kernel under construction.
#pragma once

#include "compiler/codegen/x86/emitter/amx_tiles.h"
#include "compiler/codegen/x86/emitter/x86_emitter.h"
#include "compiler/schedule/cpu/attention_plan.h"

namespace stoker::codegen {

class AttentionEmitter {
 public:
  AttentionEmitter(X86Emitter& emitter, const AttentionFunc& func, const AttentionPlan& plan)
      : e_(emitter), func_(func), plan_(plan), tiles_(emitter, plan.config_offset) {}

  void Emit();

 private:
  struct Task {
    llvm::Value* batch = nullptr;
    llvm::Value* head = nullptr;
    llvm::Value* kv_head = nullptr;
    llvm::Value* first_query = nullptr;
    llvm::Value* queries = nullptr;  // Of this task.
  };
  struct KeyBlock {
    llvm::Value* first = nullptr;
    llvm::Value* keys = nullptr;  // Of this block.
  };
  struct Tile {
    llvm::Value* first = nullptr;  // Query within the task.
    llvm::Value* rows = nullptr;
    llvm::Value* keys = nullptr;    // Keys of the block that any row of it sees.
    llvm::Value* padded = nullptr;  // Rounded up to a granule.
  };

  void EmitTask(llvm::Value* number);
  void EmitTile(const Task& task, const KeyBlock& block, llvm::Value* first);
  void EmitOutput(const Task& task);

  // attention_stage.cc: copies into scratch.
  void StageKeys(const Task& task, const KeyBlock& block);
  void StageValues(const Task& task, const KeyBlock& block);
  void StageQueries(const Task& task, const Tile& tile);
  void FetchAhead(const Task& task, llvm::Value* query);
  llvm::Value* LoadElements(std::uint32_t operand, const AttentionOperand& from, llvm::Value* row,
                            llvm::Value* at, int count, std::int64_t limit, llvm::Value* valid);

  // attention_products.cc: scratch[target] (+)= rows of lhs times a panel.
  struct Product {
    llvm::Value* target = nullptr;
    std::int64_t target_pitch = 0;  // Elements of compute.
    llvm::Value* lhs = nullptr;
    std::int64_t lhs_pitch = 0;  // Elements.
    llvm::Value* panel = nullptr;
    llvm::Value* depth = nullptr;  // Elements, a multiple of granule.
    bool accumulate = false;
  };
  void EmitProduct(const Product& product);
  void EmitVectorProduct(const Product& product);
  void EmitGranule(const Product& product, llvm::Value* at, Values& sums);
  void EmitAmxProduct(const Product& product);

  // attention_softmax.cc
  void EmitSoftmax(const Task& task, const KeyBlock& block, const Tile& tile);
  struct SoftmaxRow {
    llvm::Value* in_task = nullptr;  // Query within the task.
    llvm::Value* query = nullptr;
    llvm::Value* keys = nullptr;  // Keys of the block that it sees.
    // Pointers.
    llvm::Value* scores = nullptr;
    llvm::Value* probabilities = nullptr;
    llvm::Value* maximum = nullptr;
    llvm::Value* sum = nullptr;
  };
  SoftmaxRow SoftmaxRowAt(const Task& task, const KeyBlock& block, const Tile& tile,
                          llvm::Value* row);
  void EmitMaximum(const Task& task, const KeyBlock& block, const SoftmaxRow& row);
  void EmitExponentials(const Tile& tile, const SoftmaxRow& row);
  llvm::Value* Exp(llvm::Value* x);
  llvm::Value* MaskAt(const Task& task, llvm::Value* query, llvm::Value* key, llvm::Value* active);

  llvm::Value* OffsetOf(const AttentionOperand& operand, llvm::Value* batch, llvm::Value* head);
  llvm::Value* AddElements(llvm::Value* pointer, DType dtype, llvm::Value* elements);
  llvm::LoadInst* LoadScratch(llvm::Type* type, llvm::Value* pointer);
  void StoreScratch(llvm::Value* value, llvm::Value* pointer);
  llvm::Type* ComputeLane() { return e_.LaneType(plan_.compute); }
  llvm::Type* ComputeVector() { return KernelEmitter::VectorOf(ComputeLane(), plan_.lanes); }
  llvm::Constant* Number(double value) { return llvm::ConstantFP::get(ComputeLane(), value); }

  X86Emitter& e_;
  const AttentionFunc& func_;
  const AttentionPlan& plan_;
  AmxTiles tiles_;
};

}  // namespace stoker::codegen
