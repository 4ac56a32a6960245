// ContractionEmitter: what the micro-kernels of a contraction share: where a task is, its rows of
// A, its panel of B, its sums in scratch.
#pragma once

#include <array>

#include "compiler/codegen/llvm/emitter.h"
#include "compiler/codegen/x86/registers/amx_tiles.h"
#include "compiler/ir/contraction_func.h"
#include "compiler/schedule/cpu/contraction_plan.h"

namespace stoker::codegen {

// A run of rows of one register tile.
struct RowUnit {
  llvm::Value* first_row = nullptr;  // Flat row of C.
  llvm::Value* lhs = nullptr;        // Pointer to A at its first row, k = 0.
  llvm::Value* rows = nullptr;       // A constant when all units have as many.
};

struct ContractionTask {
  Values batch;  // Index of each batch dim.
  llvm::Value* first_unit = nullptr;
  llvm::Value* last_unit = nullptr;  // One past it.
  llvm::Value* group = nullptr;      // Of panels_per_task panels.
  llvm::Value* lhs = nullptr;        // Pointer to A at `lhs_row`, k = 0.
  llvm::Value* lhs_row = nullptr;    // 0; staged: the task's first row.
  llvm::Value* rhs = nullptr;        // Pointer to the batch's first panel.
};

// One panel of the task, over all of K or a chunk of it.
struct PanelChunk {
  llvm::Value* panel = nullptr;  // Its number.
  bool partial = false;          // Sums in scratch are added to; otherwise they start at zero.
  llvm::Value* depth = nullptr;  // Elements of the chunk; null: all.
  llvm::Value* rhs = nullptr;    // Panel at its first k.
  llvm::Value* next = nullptr;   // What is read after it.
  llvm::Value* bytes = nullptr;  // Of the panel's part.
  llvm::Value* sums = nullptr;   // Of the task's first unit.
  llvm::Value* parts = nullptr;  // kAmxSplit: `rhs` in parts.
};

class ContractionEmitter {
 public:
  ContractionEmitter(KernelEmitter& emitter, const ContractionFunc& func,
                     const ContractionPlan& plan)
      : e_(emitter), func_(func), plan_(plan), tiles_(emitter, plan.config_offset) {}

  void Emit();

 private:
  void EmitTask(llvm::Value* task);
  ContractionTask TaskAt(llvm::Value* task);
  llvm::Value* FlatBatch(const Values& batch);  // As one number, row-major.
  llvm::Value* NoteBlock(llvm::Value* block);
  ContractionTask Staged(ContractionTask task);  // Reads A from the copy in scratch.
  RowUnit UnitAt(const ContractionTask& task, llvm::Value* unit);
  llvm::Value* FirstRowOf(llvm::Value* unit);
  // Sums of a unit: [rows][nr].
  llvm::Value* SumsAt(const ContractionTask& task, const PanelChunk& chunk, llvm::Value* unit);
  void ZeroSums();
  void EmitChunks(const ContractionTask& task);
  llvm::Value* PanelAt(const ContractionTask& task, llvm::Value* panel, llvm::Value* depth);

  // Copies the task's rows of A into scratch, elements [begin, end) of the flat k.
  void StageRows(const ContractionTask& task, llvm::Value* begin, llvm::Value* end);
  void StageDepth(std::size_t dim, llvm::Value* source, llvm::Value* begin, llvm::Value* end,
                  Values& target);
  void CopyRun(llvm::Value* source, llvm::Value* target, llvm::Value* count);
  llvm::Value* LoadForCopy(llvm::Value* source, llvm::Value* at, int width, llvm::Value* mask);

  void EmitUnits(const ContractionTask& task, const PanelChunk& chunk);
  void EmitUnit(const ContractionTask& task, const PanelChunk& chunk, llvm::Value* unit);
  // Adds the unit's products to `sums`. `rows`: how many the code is for; with clamp, the unit may
  // have fewer, and those past its end repeat its last one.
  void EmitTile(const RowUnit& unit, std::int64_t rows, bool clamp, const PanelChunk& chunk,
                llvm::Value* sums, llvm::Value* prefetch);
  // Offsets of the rows of a tile from its first, in elements.
  Values RowOffsets(const RowUnit& unit, std::int64_t rows, bool clamp);
  void MultiplyAdd(const Values& rows, llvm::Value* lhs, llvm::Value* rhs, Values& carried);

  void EmitAmxUnits(const ContractionTask& task, const PanelChunk& chunk);
  void EmitAmxPair(const ContractionTask& task, const PanelChunk& chunk, llvm::Value* number,
                   bool two);
  // `second` may be null: a block of one row tile.
  void EmitAmxBlock(const PanelChunk& chunk, const RowUnit& first, const RowUnit* second,
                    llvm::Value* sums, llvm::Value* prefetch);
  void AddTileRun(const RowUnit& first, const RowUnit* second, llvm::Value* run, llvm::Value* sums);

  // contraction_runs.cc
  // After a run: adds its sums to those in scratch and begins with zeros again.
  using RunEnd = llvm::function_ref<void(Values& carried)>;
  // step(at, number, carried) for iterations [0, count) of depth[dim], granules of the last one,
  // `unroll` at a time while there are so many; end_run where the plan's runs end in this dim.
  using RunStep = llvm::function_ref<void(llvm::Value* at, int number, Values& carried)>;
  void ForRuns(std::size_t dim, llvm::Value* count, int unroll, Values& carried, RunStep step,
               RunEnd end_run);
  void ForSteps(llvm::Value* begin, llvm::Value* count, int unroll, Values& carried, RunStep step);
  // Whether the last carried value counts granules since the last run: in sizes of several dims
  // that are known at run time. The caller then ends the last run.
  bool CountsRuns() const;
  llvm::Value* RunLength();

  // contraction_stage.cc, for f32 in parts.
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

  // contraction_split.cc
  // A panel whose parts are made while another one is multiplied: some rows of every granule by
  // each block of units.
  struct SplitFeed {
    llvm::Value* source = nullptr;     // Packed panel.
    llvm::Value* target = nullptr;     // Parts.
    llvm::Value* first_row = nullptr;  // Of a granule; the block's share.
  };
  std::array<llvm::Value*, kSplitParts> PartsOf(llvm::Value* low, llvm::Value* high,
                                                bool keep_infinity);
  void StageSplitRow(llvm::Value* source, llvm::Value* target, llvm::Value* begin,
                     llvm::Value* end);
  void BeginSplitPanels();
  // Splits the task's span of A if `fresh`; the task then reads that.
  ContractionTask StagedSpan(ContractionTask task, llvm::Value* fresh);
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
  std::int64_t SplitRowsPerBlock() const;
  llvm::Value* GranulesOf(const PanelChunk& chunk);
  void SplitRow(llvm::Value* source, llvm::Value* target, llvm::Value* granule, llvm::Value* row);
  // Before and after the units of a panel.
  void BeginSplitPanel(PanelChunk& chunk);
  void EndSplitPanel(const ContractionTask& task, const PanelChunk& chunk);
  SplitFeed FeedOf(const ContractionTask& task, const PanelChunk& chunk, llvm::Value* unit);
  // Leaves the sums of the last run in the block, those of the runs before it in the total.
  void EmitSplitBlock(const PanelChunk& chunk, const RowUnit& first, const RowUnit* second,
                      const SplitFeed& feed);
  // contraction_split_sums.cc
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
  std::int64_t DeferredRowsPerGranule() const;
  DeferredRows TakeDeferred();
  void EmitDeferredRow(const DeferredRows& deferred, llvm::Value* number);
  void DeferOrEmitEpilogue(const ContractionTask& task, const PanelChunk& chunk,
                           const RowUnit& first, const RowUnit* second, llvm::Value* sums);
  void FlushDeferred();
  // Takes a unit's sums from the block, and from the runs before it (null: there are none), or
  // computes them again if any is not finite.
  void SettleSplitUnit(const PanelChunk& chunk, const RowUnit& unit, llvm::Value* block,
                       llvm::Value* total, llvm::Value* sums);
  void RepairSplitUnit(const PanelChunk& chunk, const RowUnit& unit, llvm::Value* sums);

  // Walks all of the chunk's k: step(lhs, rhs, granules, carried) consumes `granules` granules.
  // carried[0] is the panel's pointer, carried[1] the prefetch pointer; EmitDepth moves both.
  using DepthStep =
      llvm::function_ref<void(llvm::Value* lhs, llvm::Value* rhs, int granules, Values& carried)>;
  void EmitDepth(llvm::Value* lhs, const PanelChunk& chunk, int unroll, Values& carried,
                 DepthStep step, RunEnd end_run);
  void WalkDepth(std::size_t dim, llvm::Value* lhs, const PanelChunk& chunk, int unroll,
                 Values& carried, DepthStep step, RunEnd end_run);
  // Where a unit's part of the next panel begins.
  llvm::Value* PrefetchFor(const ContractionTask& task, const PanelChunk& chunk, llvm::Value* unit);
  std::int64_t PrefetchLines(int granules) const;

  void EmitEpilogue(const ContractionTask& task, llvm::Value* panel, const RowUnit& unit,
                    llvm::Value* sums);
  void EmitEpilogueRows(const ContractionTask& task, llvm::Value* panel, const RowUnit& unit,
                        llvm::Value* sums, llvm::Value* columns);
  // `row`: of C, flat; `sums`: of this row.
  void EmitEpilogueRow(const Values& batch, llvm::Value* row, llvm::Value* panel, llvm::Value* sums,
                       llvm::Value* columns);

  llvm::Value* AddBytes(llvm::Value* pointer, llvm::Value* bytes);
  std::int64_t ElementBytes() const { return SizeInBytes(plan_.element); }
  std::int64_t GranuleBytes() const;  // Of a panel, per granule of depth.
  std::int64_t SumBytes() const;      // Of one row of sums.

  KernelEmitter& e_;
  const ContractionFunc& func_;
  const ContractionPlan& plan_;
  AmxTiles tiles_;
};

}  // namespace stoker::codegen
