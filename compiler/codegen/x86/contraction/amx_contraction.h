// AmxContraction: micro-kernel kAmx, and what it shares with kAmxSplit: units are multiplied in
// pairs, two row tiles of A by two column tiles of B, and their epilogues run beside the products
// of the next pair.
#pragma once

#include "compiler/codegen/x86/contraction/contraction_emitter.h"
#include "compiler/codegen/x86/emitter/amx_tiles.h"

namespace stoker::codegen {

// One unit, or two.
struct UnitPair {
  RowUnit first;
  const RowUnit* second = nullptr;  // Null where there is one.
  llvm::Value* sums = nullptr;
  llvm::Value* second_sums = nullptr;
};

class AmxContraction : public ContractionEmitter {
 public:
  AmxContraction(X86Emitter& emitter, const ContractionFunc& func, const ContractionPlan& plan)
      : ContractionEmitter(emitter, func, plan), tiles_(emitter, plan.config_offset) {}

 protected:
  void Begin() override;
  void End() override;
  void EmitUnits(const Tasks& tasks, const PanelChunk& chunk) override;
  // Multiplies a pair of units, from unit `number` on, into its sums.
  virtual void EmitBlock(const Tasks& tasks, const PanelChunk& chunk, llvm::Value* number,
                         const UnitPair& pair);
  // Adds the sums of a run of one or two units to others that lie like them.
  void AddTileRun(const RowUnit& first, const RowUnit* second, llvm::Value* run, llvm::Value* sums);

  // amx_epilogue.cc
  // A block's epilogue runs while the next block is multiplied, which may belong to another task;
  // only if there are granules enough to spread its rows over.
  struct DeferredRows {
    llvm::Value* count = nullptr;       // 0: none.
    llvm::Value* first_unit = nullptr;  // Of them, in the first unit.
    llvm::Value* first_row = nullptr;   // Of C, flat.
    llvm::Value* panel = nullptr;
    Values batch;
  };
  bool DefersEpilogue() const;
  // Of the block before, which are run beside all granules of this one.
  DeferredRows TakeDeferred();
  // Beside the products of granule `granule`: those of its rows that are numbered [begin, end).
  void EmitDeferredRows(const DeferredRows& deferred, llvm::Value* granule, std::int64_t begin,
                        std::int64_t end);
  // Those of granule `granule` and all after it.
  void EmitDeferredFrom(const DeferredRows& deferred, llvm::Value* granule);

  // What the products of a block need, and what runs beside them.
  struct TileBlock {
    int row_tiles = 1;
    llvm::Value* distance = nullptr;  // Of the second row tile from the first.
    llvm::Value* lhs_stride = nullptr;
    // A chunk of a panel stays in the first-level cache, a whole one and the rows do not.
    bool keeps_rhs = false;
    DeferredRows deferred;
  };
  TileBlock TileBlockOf(const RowUnit& first, const RowUnit* second, const PanelChunk& chunk);
  // Of its tiles of sums, which lie at `base` one unit after the other.
  void ForEachSum(const TileBlock& block, llvm::Value* base,
                  llvm::function_ref<void(int tile, llvm::Value* at)> use);
  // By the loaded tiles of B.
  void MultiplyRowTile(int number);

  AmxTiles tiles_;

 private:
  void EmitPair(const Tasks& tasks, const PanelChunk& chunk, llvm::Value* number, bool two);
  void EmitGranule(const TileBlock& block, llvm::Value* lhs, llvm::Value* rhs);
  // Runs a pair's epilogues or leaves them to the next, unless sums are partial.
  void FinishBlock(const Tasks& tasks, const PanelChunk& chunk, const UnitPair& pair);
  std::int64_t DeferredRowsPerGranule() const;
  void EmitDeferredRow(const DeferredRows& deferred, llvm::Value* number);
  void DeferOrEmitEpilogue(const Tasks& tasks, const PanelChunk& chunk, const UnitPair& pair);
  void FlushDeferred();
};

}  // namespace stoker::codegen
