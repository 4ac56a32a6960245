// ContractionEmitter: what the micro-kernels of a contraction share: where a task is, its rows of
// A, its panel of B, its sums in scratch, loops over K, epilogues. Each micro-kernel derives from
// it.
#pragma once

#include "compiler/codegen/x86/emitter/amx_tiles.h"
#include "compiler/codegen/x86/emitter/x86_emitter.h"
#include "compiler/ir/contraction_func.h"
#include "compiler/schedule/cpu/contraction/contraction_plan.h"

namespace stoker::codegen {

// Operands of a ContractionFunc.
inline constexpr std::uint32_t kLhs = 0;
inline constexpr std::uint32_t kRhs = 1;
inline constexpr int kTileRows = AmxTiles::kRows;
inline constexpr int kTileRowBytes = AmxTiles::kRowBytes;

// Of each dim of K, the iterations in which A is not zero for all rows; null for all of them.
struct DepthRange {
  llvm::Value* begin = nullptr;
  llvm::Value* end = nullptr;
};

// What of K a unit needs.
struct DepthBounds {
  std::vector<DepthRange> ranges;  // Of each dim of K; none: all of all.
  // Of plans with a column_halo: of each line of the unit. Null: all columns take part everywhere.
  llvm::Value* first_column = nullptr;
  llvm::Value* last_column = nullptr;
};

// Which columns of a line take part.
enum class Columns : std::uint8_t { kAll, kAllButFirst, kAllButLast };

// A run of rows of one register tile.
struct RowUnit {
  llvm::Value* first_row = nullptr;  // Flat row of C.
  llvm::Value* lhs = nullptr;        // Pointer to A at its first row, k = 0.
  llvm::Value* rows = nullptr;       // A constant when all units have as many.
  // Of plans with last_tiles: rows of its tile, how many of these come before its first row, and
  // whether it is the only one of its line. `lhs` is at the tile's first row.
  llvm::Value* tile_rows = nullptr;
  llvm::Value* before = nullptr;
  llvm::Value* is_lone = nullptr;
  DepthBounds depth;
};

// Consecutive tasks of one block of rows: of one panel or, when chunked, of one group of panels.
struct Tasks {
  Values batch;                  // Index of each batch dim.
  llvm::Value* block = nullptr;  // The number of the block's first task.
  llvm::Value* block_unit = nullptr;
  llvm::Value* block_end = nullptr;  // One past the block's last unit.
  // Of the first panel and of the last one, which may be the same; those between have all.
  llvm::Value* first_unit = nullptr;
  llvm::Value* last_unit = nullptr;  // One past it.
  llvm::Value* group = nullptr;      // Its first panel.
  llvm::Value* first_panel = nullptr;
  llvm::Value* end_panel = nullptr;  // One past the last.
  llvm::Value* count = nullptr;
  llvm::Value* lhs = nullptr;      // Pointer to A at `lhs_row`, k = 0.
  llvm::Value* lhs_row = nullptr;  // 0; staged: the block's first row.
  llvm::Value* rhs = nullptr;      // Pointer to the batch's first panel.
};

// One panel of several tasks, over all of K or a chunk of it.
struct PanelChunk {
  llvm::Value* panel = nullptr;  // Its number.
  bool partial = false;          // Sums in scratch are added to; otherwise they start at zero.
  llvm::Value* depth = nullptr;  // Elements of the chunk; null: all.
  llvm::Value* rhs = nullptr;    // Panel at its first k.
  llvm::Value* next = nullptr;   // What is read after it.
  llvm::Value* bytes = nullptr;  // Of the panel's part.
  llvm::Value* sums = nullptr;   // Of the block's first unit.
  llvm::Value* parts = nullptr;  // kAmxSplit: `rhs` in parts.
  llvm::Value* lone = nullptr;   // kAmxSplit: whether `parts` hold few granules at a time, or null.
};

// A chunk of K.
struct ChunkRange {
  llvm::Value* begin = nullptr;
  llvm::Value* end = nullptr;
  llvm::Value* depth = nullptr;  // K.
};

class ContractionEmitter {
 public:
  ContractionEmitter(X86Emitter& emitter, const ContractionFunc& func, const ContractionPlan& plan)
      : e_(emitter), func_(func), plan_(plan) {}
  virtual ~ContractionEmitter() = default;

  void Emit();

 protected:
  // Before the first task and after the last one of a call.
  virtual void Begin() {}
  virtual void End() {}
  // A block is noted in scratch as the number of its first task; this is none.
  static constexpr std::int64_t kNoBlock = -1;
  // Their units of the only panel, or of a panel's chunk, and their epilogues unless sums are
  // partial.
  virtual void EmitUnits(const Tasks& tasks, const PanelChunk& chunk) = 0;
  // Copies the block's rows of A over all of K if `fresh`; the tasks then read the copy.
  virtual Tasks ReadCopy(const Tasks& tasks, llvm::Value* fresh);
  // Copies elements [begin, end) of the flat k of a row of A; a null end is that of K.
  virtual void CopyRow(llvm::Value* source, llvm::Value* target, llvm::Value* begin,
                       llvm::Value* end);

  llvm::Value* FlatBatch(const Values& batch);  // As one number, row-major.
  RowUnit UnitAt(const Tasks& tasks, llvm::Value* unit);
  llvm::Value* FirstRowOf(llvm::Value* unit);
  llvm::Value* FirstStagedRow(const Tasks& tasks);
  // Of plans with last_tiles: the first element of a segment, one past the last of all included.
  llvm::Value* BeginOfSegment(llvm::Value* segment);
  // Of `tiles`, or all rows, that hold so many.
  llvm::Value* SmallestTile(const std::vector<std::int64_t>& tiles, llvm::Value* rows);
  void ChooseTile(RowUnit& unit, llvm::Value* segment);
  // Sums of a unit: [rows][nr].
  llvm::Value* SumsAt(const Tasks& tasks, const PanelChunk& chunk, llvm::Value* unit);

  // contraction_stage.cc: copies of A.
  void StageRows(const Tasks& tasks, llvm::Value* begin, llvm::Value* end);
  void StageDepth(std::size_t dim, llvm::Value* source, llvm::Value* begin, llvm::Value* end,
                  Values& target);

  // contraction_runs.cc: loops over K.
  // After a run: adds its sums to those in scratch and begins with zeros again.
  using RunEnd = llvm::function_ref<void(Values& carried)>;
  // step(at, number, carried) for iterations [0, count) of depth[dim], granules of the last one,
  // `unroll` at a time while there are so many; end_run where the plan's runs end in this dim.
  using RunStep = llvm::function_ref<void(llvm::Value* at, int number, Values& carried)>;
  void ForRuns(std::size_t dim, llvm::Value* count, int unroll, Values& carried, RunStep step,
               RunEnd end_run);
  // Walks all of the chunk's k: step(lhs, rhs, granules, carried) consumes `granules` granules.
  // carried[0] is the panel's pointer, carried[1] the prefetch pointer; EmitDepth moves both.
  using DepthStep =
      llvm::function_ref<void(llvm::Value* lhs, llvm::Value* rhs, int granules, Values& carried)>;
  void EmitDepth(llvm::Value* lhs, const DepthBounds& bounds, const PanelChunk& chunk, int unroll,
                 Values& carried, DepthStep step, RunEnd end_run);
  Columns columns() const { return columns_; }  // In the step that is being emitted.
  // What one unit or two need.
  DepthBounds UnionOf(const RowUnit& first, const RowUnit* second);
  // Where a unit's part of the next panel begins.
  llvm::Value* PrefetchFor(const Tasks& tasks, const PanelChunk& chunk, llvm::Value* unit);

  void EmitEpilogue(const Tasks& tasks, llvm::Value* panel, const RowUnit& unit, llvm::Value* sums);
  void EmitEpilogueRows(const Tasks& tasks, llvm::Value* panel, const RowUnit& unit,
                        llvm::Value* sums, llvm::Value* columns);
  // `row`: of C, flat; `sums`: of this row.
  void EmitEpilogueRow(const Values& batch, llvm::Value* row, llvm::Value* panel, llvm::Value* sums,
                       llvm::Value* columns);

  llvm::Value* AddBytes(llvm::Value* pointer, llvm::Value* bytes);
  llvm::Value* Max(llvm::Value* x, llvm::Value* y);
  std::int64_t ElementBytes() const { return SizeInBytes(plan_.element); }
  std::int64_t GranuleBytes() const;  // Of a panel, per granule of depth.
  std::int64_t SumBytes() const;      // Of one row of sums.

  X86Emitter& e_;
  const ContractionFunc& func_;
  const ContractionPlan& plan_;

 private:
  void EmitTasks(const Tasks& tasks);
  llvm::Value* PanelAfter(const Tasks& tasks, llvm::Value* next);
  // contraction_tasks.cc
  llvm::Value* StepsOfBlocks();
  Tasks TasksAt(llvm::Value* task);
  void PlaceInPanel(Tasks& tasks, llvm::Value* in_block, llvm::Value* steps, llvm::Value* left);
  void PlaceInGroup(Tasks& tasks, llvm::Value* in_block, llvm::Value* steps, llvm::Value* left);
  void PlaceBatch(Tasks& tasks, llvm::Value* batch);
  Tasks Staged(Tasks tasks);  // Reads A from the copy in scratch.
  llvm::Value* SumsOfPanel(const Tasks& tasks, llvm::Value* panel);
  void ZeroSums(const Tasks& tasks);
  void EmitChunks(const Tasks& tasks);
  Tasks UnitsOf(Tasks tasks, llvm::Value* panel);
  PanelChunk ChunkAt(const Tasks& tasks, const ChunkRange& range, llvm::Value* panel);
  llvm::Value* PanelAt(const Tasks& tasks, llvm::Value* panel, llvm::Value* depth);

  void CopyRun(llvm::Value* source, llvm::Value* target, llvm::Value* count);
  llvm::Value* LoadForCopy(llvm::Value* source, llvm::Value* at, int width, llvm::Value* mask);

  void ForSteps(llvm::Value* begin, llvm::Value* count, int unroll, Values& carried, RunStep step);
  // Whether the last carried value counts granules since the last run: in sizes of several dims
  // that are known at run time. The caller then ends the last run.
  bool CountsRuns() const;
  llvm::Value* RunLength();
  // As ForRuns in a dim that is not the innermost one, in some of its iterations.
  void ForRunsIn(std::size_t dim, const DepthRange& range, Values& carried, RunStep step,
                 RunEnd end_run);
  // `first`: of rows[plan_.split], the last one that of the unit.
  DepthRange RangeOf(const Halo& halo, llvm::Value* first, llvm::Value* last);
  void WalkDepth(std::size_t dim, llvm::Value* lhs, const DepthBounds& bounds,
                 const PanelChunk& chunk, int unroll, Values& carried, DepthStep step,
                 RunEnd end_run);
  // Emits `walk` for each kind of columns that iteration `i` of the column halo's dim may have.
  void ForColumns(const DepthBounds& bounds, llvm::Value* i, Values& carried,
                  llvm::function_ref<void(Values& carried)> walk);
  std::int64_t PrefetchLines(int granules) const;

  bool ReadsWholeCopy() const {
    return plan_.lhs == LhsCopy::kWhole || plan_.lhs == LhsCopy::kSpan;
  }

  Columns columns_ = Columns::kAll;
  llvm::Value* block_steps_ = nullptr;  // Of a block of rows; the last one may have fewer.
};

}  // namespace stoker::codegen
