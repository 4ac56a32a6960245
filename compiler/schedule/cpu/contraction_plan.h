// ContractionPlan: how a contraction is cut into tasks and register tiles. Follows from the
// function and the machine alone; emission and the launch shape both read it.
//
// The rows of C (all m dims, flattened row-major) are cut into units: runs of rows of one register
// tile. A task computes `units_per_task` units of one batch against one panel of packed B (nr
// columns, or a few); the panel is the fastest part of the task number, so that consecutive tasks
// of a thread share their rows of A.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/contraction_func.h"
#include "compiler/machine/cpu_machine.h"
#include "compiler/schedule/cpu/launch_shape.h"
#include "compiler/schedule/cpu/sum_runs.h"

namespace stoker::codegen {

enum class MicroKernel : std::uint8_t {
  kMultiplyAdd,  // Vectors of columns, one broadcast element of A each: f32, f64, i32, i64.
  kDotBF16,      // vdpbf16ps: a broadcast pair of A, pairs of B.
  kAmx,          // tdpbf16ps: two row tiles by two column tiles.
  kAmxSplit,     // The same on f32 split into three bf16 parts; see contraction_split.cc.
};

// Three bf16 parts of an f32, which have all of its bits.
constexpr std::int64_t kSplitParts = 3;
constexpr std::int64_t kSplitBytes = kSplitParts * 2;

struct ContractionPlan {
  MicroKernel kernel = MicroKernel::kMultiplyAdd;
  DType element = DType::kF32;     // Of A and B where they are multiplied; that of packed B.
  int lanes = 16;                  // Columns of an accumulator vector, or of a tile.
  int vectors = 2;                 // nr / lanes.
  std::int64_t depth_granule = 1;  // K is consumed in multiples of this.

  // A as the micro-kernel sees it: dims merged where strides allow, extents of 1 dropped, never
  // empty. When staged, both are one dim over the scratch copy.
  std::vector<ContractionDim> rows;
  std::vector<ContractionDim> depth;
  std::vector<ContractionDim> source_depth;  // `depth` before staging.
  // The task's rows of A are first copied into scratch: converted to `element`, K contiguous and
  // zero padded to depth_granule.
  bool staged = false;
  bool staged_whole = false;      // Once for all chunks of K, not each chunk by itself.
  std::int64_t staged_pitch = 0;  // Elements between rows of the copy.
  // kAmxSplit, if not 0: what is copied is all between a task's first and last element, at most so
  // many, and `rows` and `depth` are those of A.
  std::int64_t staged_span = 0;
  // Of an element of A where the micro-kernel reads it.
  std::int64_t LhsBytes() const {
    return kernel == MicroKernel::kAmxSplit ? kSplitBytes : SizeInBytes(element);
  }

  // The split dim, rows[split], is cut into `segments`; each element of it is `inner` rows. The
  // first `long_segments` have `segment` elements; the others one less, or, when the extent is
  // symbolic, the only other one has what remains.
  std::size_t split = 0;
  std::int64_t inner = 1;
  SymDim segments;
  SymDim long_segments;
  std::int64_t segment = 1;
  SymDim units;  // Segments times the extents of the dims outside the split dim.
  std::int64_t units_per_task = 1;
  std::int64_t MaxUnitRows() const { return segment * inner; }

  // K is consumed in chunks of this many elements with partial sums in scratch; 0: at once. In a
  // chunk the task works on all of its panels, so that the chunk's part of A stays in the cache.
  std::int64_t chunk = 0;
  std::int64_t panels_per_task = 1;  // More than one only with chunks.
  // Of K, or of a chunk of it: sums that are added to those in scratch.
  SumRuns runs;
  // While a panel (its chunk) is computed, the next one is fetched into the second-level cache,
  // this many parts of it, each in the time of one register tile. 0: not at all.
  std::int64_t prefetch_parts = 0;

  // Of dims that are constant: elements of K as the micro-kernel sees it, and what they span in A.
  std::int64_t ConstantDepth() const;
  std::int64_t ConstantDepthSpan() const;

  SymDim batch;         // Product of the batch dims.
  SymDim blocks;        // ceil(units / units_per_task).
  SymDim panels;        // ceil(N / nr).
  SymDim panel_groups;  // ceil(panels / panels_per_task).
  SymDim panel_stride;  // Bytes of packed B from one panel to the next.

  // Scratch, bytes.
  std::int64_t unit_bytes = 0;     // Sums of one unit and one panel.
  std::int64_t sums_bytes = 0;     // Of one unit (AMX: two); of the whole task when chunked.
  std::int64_t block_offset = 0;   // kAmxSplit: sums of two units before they are checked.
  std::int64_t run_offset = 0;     // AMX: sums of two units over one run.
  std::int64_t total_offset = 0;   // kAmxSplit: the runs of two units before the last one.
  std::int64_t config_offset = 0;  // AMX tile configuration, 64 bytes.
  std::int64_t ready_offset = 0;   // kAmxSplit: which panel lies split where; see BeginSplitPanel.
  std::int64_t deferred_offset = 0;  // kAmxSplit: whose epilogue is still to run.
  std::int64_t split_offset = 0;     // kAmxSplit: two buffers of one panel's parts.
  std::int64_t split_bytes = 0;      // Of one of them.
  std::int64_t row_offset = 0;       // kAmxSplit: one row of A, copied together.
  std::int64_t staged_offset = 0;
  std::int64_t scratch_bytes = 0;

  double task_ns = 0;  // A rough estimate.
};

Result<ContractionPlan> PlanContraction(const ContractionFunc& func, const CpuMachine& machine);

// The expressions that EmitContraction asks for, in order.
std::vector<SymDim> DimsOf(const ContractionFunc& func, const ContractionPlan& plan);

}  // namespace stoker::codegen
