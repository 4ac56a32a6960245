// SplitContraction: micro-kernel kAmxSplit, f32 as three bf16 parts.
#pragma once

#include <array>

#include "compiler/codegen/x86/contraction/amx_contraction.h"

namespace stoker::codegen {

class SplitContraction final : public AmxContraction {
 public:
  using AmxContraction::AmxContraction;

 private:
  void Begin() override;
  void EmitUnits(const Tasks& tasks, const PanelChunk& chunk) override;
  void EmitBlock(const Tasks& tasks, const PanelChunk& chunk, llvm::Value* number,
                 const UnitPair& pair) override;
  Tasks ReadCopy(const Tasks& tasks, llvm::Value* fresh) override;
  void CopyRow(llvm::Value* source, llvm::Value* target, llvm::Value* begin,
               llvm::Value* end) override;

  // Elements [begin, end) of the flat k of a row of A at `source`: itself, or a copy in which they
  // lie together, padded to a granule.
  struct RowRun {
    std::uint32_t operand = 0;
    DType dtype = DType::kF32;
    llvm::Value* source = nullptr;
    llvm::Value* count = nullptr;
  };
  RowRun RunOf(llvm::Value* source, llvm::Value* begin, llvm::Value* end);
  // emit(granule, active) for the granules of a run; `active`: how many elements it has, null for
  // all.
  void ForEachRunGranule(const RowRun& run,
                         llvm::function_ref<void(llvm::Value* granule, llvm::Value* active)> emit);

  // A panel whose parts are made while another one is multiplied, a share of it by each block of
  // units; where there is one block, by it the panel's own next granules.
  struct SplitFeed {
    llvm::Value* source = nullptr;  // Packed panel.
    llvm::Value* target = nullptr;  // Parts.
    llvm::Value* first = nullptr;   // Row of pairs of the panel: where the block's share begins.
    llvm::Value* rows = nullptr;    // Beside each granule.
    llvm::Value* end = nullptr;     // Row of pairs: one past the panel's last one.
    llvm::Value* lone = nullptr;    // See IsLonePair.
  };
  std::array<llvm::Value*, kSplitParts> PartsOf(llvm::Value* low, llvm::Value* high,
                                                bool can_be_added_up);
  llvm::Value* OffsetOfRow(llvm::Value* row);  // Of A, elements.
  void SplitGranule(std::uint32_t operand, DType from, llvm::Value* source, llvm::Value* target,
                    llvm::Value* granule, llvm::Value* active);
  // step(lhs, number, carried) for every granule of the chunk's k, counted over all of its dims.
  using SplitStep =
      llvm::function_ref<void(llvm::Value* lhs, llvm::Value* number, Values& carried)>;
  void ForEachGranule(const PanelChunk& chunk, llvm::Value* lhs, Values& carried, SplitStep step,
                      RunEnd end_run);
  void WalkGranules(std::size_t dim, const PanelChunk& chunk, llvm::Value* lhs, Values& carried,
                    SplitStep step, RunEnd end_run);
  std::int64_t MaxSplitGranules() const;  // Of a chunk.
  std::int64_t GranulesOfSplitRun() const;
  bool HasSplitRuns() const;  // More than one in a chunk.
  bool SplitsAhead() const;
  llvm::Value* SplitRowsPerBlock(const Tasks& tasks);  // Of each granule.
  llvm::Value* GranulesOf(const PanelChunk& chunk);
  llvm::Value* RowsOfPairs(const PanelChunk& chunk);
  llvm::Value* IsLonePair(const Tasks& tasks);  // Null: no.
  llvm::Value* PartsOfGranule(llvm::Value* parts, llvm::Value* lone, llvm::Value* granule);
  void SplitRow(llvm::Value* source, llvm::Value* target, llvm::Value* lone, llvm::Value* row);
  // Before and after the units of a panel.
  void BeginSplitPanel(const Tasks& tasks, PanelChunk& chunk);
  void EndSplitPanel(const Tasks& tasks, const PanelChunk& chunk);
  SplitFeed FeedOf(const Tasks& tasks, const PanelChunk& chunk, llvm::Value* unit);
  // Leaves the sums of the last run in the block, those of the runs before it in the total.
  void EmitSplitBlock(const PanelChunk& chunk, const RowUnit& first, const RowUnit* second,
                      const SplitFeed& feed);
  struct SplitBlock : TileBlock {
    llvm::Value* parts = nullptr;  // Of the panel.
    SplitFeed feed;
  };
  SplitBlock BlockOf(const PanelChunk& chunk, const RowUnit& first, const RowUnit* second,
                     const SplitFeed& feed);
  void SplitBeside(const SplitFeed& feed, llvm::Value* granule, std::int64_t step,
                   std::int64_t steps);
  void EmitSplitGranule(const SplitBlock& block, llvm::Value* lhs, llvm::Value* granule);

  // split_sums.cc
  // Takes a unit's sums from the block, and from the runs before it (null: there are none), or
  // computes them again if any is not finite.
  void SettleSplitUnit(const PanelChunk& chunk, const RowUnit& unit, llvm::Value* block,
                       llvm::Value* total, llvm::Value* sums);
  llvm::Value* WholePair(llvm::Value* granule, llvm::Value* number);
  void RepairSplitUnit(const PanelChunk& chunk, const RowUnit& unit, llvm::Value* sums);
};

}  // namespace stoker::codegen
