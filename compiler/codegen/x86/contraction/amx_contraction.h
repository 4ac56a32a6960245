// AmxContraction: micro-kernel kAmx, and what it shares with kAmxSplit: units are multiplied in
// pairs, two row tiles of A by two column tiles of B.
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
  // Runs their epilogues, unless sums are partial.
  virtual void FinishBlock(const Tasks& tasks, const PanelChunk& chunk, const UnitPair& pair);
  // Adds the sums of a run of one or two units to others that lie like them.
  void AddTileRun(const RowUnit& first, const RowUnit* second, llvm::Value* run, llvm::Value* sums);

  AmxTiles tiles_;

 private:
  void EmitPair(const Tasks& tasks, const PanelChunk& chunk, llvm::Value* number, bool two);
};

}  // namespace stoker::codegen
