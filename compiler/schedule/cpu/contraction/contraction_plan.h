// ContractionPlan: a schedule worked out for its function: units, panels, tasks, and where what
// lies in scratch. Nothing is chosen here.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/schedule/cpu/contraction/contraction_schedule.h"

namespace stoker::cpu {

// Three bf16 parts of an f32, which have all of its bits.
constexpr std::int64_t kSplitParts = 3;
constexpr std::int64_t kSplitBytes = kSplitParts * 2;

struct ContractionPlan : ContractionSchedule {
  DType element = DType::kF32;     // Of A and B where they are multiplied; that of packed B.
  int lanes = 16;                  // Columns of an accumulator vector, or of a tile.
  int vectors = 2;                 // nr / lanes.
  std::int64_t registers = 16;     // Vectors that they hold.
  std::int64_t depth_granule = 1;  // K is consumed in multiples of this.

  // A as the micro-kernel sees it: dims merged where strides allow, extents of 1 dropped, never
  // empty. When staged, both are one dim over the scratch copy.
  std::vector<ContractionDim> rows;
  std::vector<ContractionDim> depth;
  std::vector<ContractionDim> source_depth;  // `depth` before staging.
  // Of `rows` and `depth` where A is read in place: those of dims of K around the innermost one,
  // and of rows that are the same for all of a unit or its lines.
  std::vector<Halo> halos;
  // The same of columns: in some of its iterations the first or the last row of each line of a unit
  // is zero.
  std::optional<Halo> column_halo;
  // kSpan: elements of the copy of a block, at most; `rows` and `depth` are those of A.
  std::int64_t staged_span = 0;
  // Of an element of A where the micro-kernel reads it.
  std::int64_t LhsBytes() const {
    return kernel == MicroKernel::kAmxSplit ? kSplitBytes : SizeInBytes(element);
  }

  // The split dim, rows[split], is cut into `segments`; each element of it is `inner` rows. The
  // first `long_segments` have `segment` elements; the others one less, or, when the extent is
  // symbolic, the only other one has what remains. With `last_tiles` the last two share what would
  // leave the last one less than half.
  std::size_t split = 0;
  std::int64_t inner = 1;
  SymDim segments;
  SymDim long_segments;
  std::int64_t segment = 1;
  SymDim units;  // Segments times the extents of the dims outside the split dim.
  std::int64_t MaxUnitRows() const { return segment * inner; }
  // Rows of a line in a unit of so many.
  std::int64_t LineRows(std::int64_t unit_rows) const { return inner == 1 ? unit_rows : inner; }
  // Vector micro-kernels: whether registers hold the sums of a run of so many rows, and those of
  // all runs before it.
  bool KeepsTotals(std::int64_t tile) const {
    return !IsAmx(kernel) && !runs.one && tile <= MaxRowsWithTotals();
  }
  std::int64_t MaxRowsWithTotals() const { return (registers - 1 - vectors) / (2 * vectors); }

  // Of dims that are constant: elements of K as the micro-kernel sees it, and what they span in A.
  std::int64_t ConstantDepth() const;
  std::int64_t ConstantDepthSpan() const;

  // A task is one step of units by one panel. Tasks are numbered batch by batch, in a batch block
  // by block of rows, in a block group by group of panels, and in a group panel by panel.
  std::int64_t units_per_step = 1;   // Units that are multiplied together; AMX: two.
  std::int64_t steps_per_block = 1;  // At most; the last block may have fewer.
  SymDim steps;                      // ceil(units / units_per_step).

  SymDim batch;         // Product of the batch dims.
  SymDim panels;        // ceil(N / nr).
  SymDim panel_stride;  // Bytes of packed B from one panel to the next.

  // Scratch, bytes.
  std::int64_t unit_bytes = 0;       // Sums of one unit and one panel.
  std::int64_t sums_bytes = 0;       // Of one unit (AMX: two); of a block and a group when chunked.
  std::int64_t block_offset = 0;     // kAmxSplit: sums of two units before they are checked.
  std::int64_t run_offset = 0;       // AMX: sums of two units over one run.
  std::int64_t total_offset = 0;     // kAmxSplit: the runs of two units before the last one.
  std::int64_t config_offset = 0;    // AMX tile configuration, 64 bytes.
  std::int64_t deferred_offset = 0;  // AMX: whose epilogue is still to run.
  std::int64_t ready_offset = 0;  // kAmxSplit: which panel lies split where; see BeginSplitPanel.
  std::int64_t split_offset = 0;  // kAmxSplit: two buffers of one panel's parts.
  std::int64_t split_bytes = 0;   // Of one of them.
  std::int64_t row_offset = 0;    // kAmxSplit: one row of A, copied together.
  std::int64_t staged_offset = 0;
  std::int64_t scratch_bytes = 0;
};

// The dims and sizes that the schedule leaves to be chosen are those of `kernel` with A in place.
ContractionPlan PlanOperands(const ContractionFunc& func, MicroKernel kernel,
                             const CpuMachine& machine);
// Chooses split, inner, segment and segments for register tiles of at most `tile_rows` rows.
void CutRows(ContractionPlan& plan);
// Of a copy of A: its one dim of rows and its one dim of K.
void ReadCopy(ContractionPlan& plan, const ContractionFunc& func);
// K, and K padded to what packed B is padded to.
SymDim DepthOf(const ContractionFunc& func);
SymDim PaddedDepth(const ContractionFunc& func);
// Of a block of kSpan, at most.
std::int64_t MaxSpan(const ContractionPlan& plan, std::int64_t units_per_block);

ContractionPlan PlanContraction(const ContractionFunc& func, const ContractionSchedule& schedule,
                                const CpuMachine& machine);

// The expressions that EmitContraction asks for, in order.
std::vector<SymDim> DimsOf(const ContractionFunc& func, const ContractionPlan& plan);

}  // namespace stoker::cpu
