// ContractionSchedule: how a contraction runs: its micro-kernel, and how rows of A, panels of B and
// the sum over K are cut.
//
// The rows of C (all m dims, flattened row-major) are cut into units: runs of rows of one register
// tile. A task is a unit (AMX: two) of one batch against one panel of packed B (nr columns). Tasks
// are as small as they can be, so that any number of threads has equal shares, and numbered so that
// a thread's share is as good as a large task: units of a block of rows that stays in the cache,
// panel by panel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/contraction_func.h"
#include "compiler/machine/cpu_machine.h"
#include "compiler/schedule/cpu/contraction/micro_kernel.h"
#include "compiler/schedule/cpu/contraction/sum_runs.h"
#include "compiler/schedule/cpu/launch/launch_shape.h"

namespace stoker::cpu {

// Where the micro-kernel reads rows of A.
enum class LhsCopy : std::uint8_t {
  kNone,    // In place.
  kWhole,   // From a copy in scratch: in the element type, K contiguous and zero padded.
  kChunks,  // From such a copy of each chunk of K by itself.
  kSpan,    // kAmxSplit: from a copy of all between a block's first and last element.
};

struct ContractionSchedule {
  MicroKernel kernel = MicroKernel::kMultiplyAdd;
  LhsCopy lhs = LhsCopy::kNone;
  std::int64_t lhs_pitch = 0;  // Elements between rows of the copy.
  std::int64_t tile_rows = 1;  // Of a register tile, at most.
  // Where the number of rows is symbolic: rows of the tiles for units of fewer rows, largest first.
  // They take rows of the unit before along, whose sums they drop.
  std::vector<std::int64_t> last_tiles;
  // The same for a unit that is the only one, whose last row stands for those beyond it.
  std::vector<std::int64_t> lone_tiles;
  // Vector micro-kernels: products between two branches, which unrolling makes of them; 0: of
  // others.
  std::int64_t products_per_iteration = 0;
  // Of rows, at most. Where rows are copied, and each of several threads copies those that it works
  // on, blocks are made smaller when the kernel is launched.
  std::int64_t units_per_block = 1;
  // K is consumed in chunks of this many elements with partial sums in scratch; 0: at once. In a
  // chunk a thread works on all panels of a group, so that the chunk's part of A stays in the
  // cache.
  std::int64_t chunk = 0;
  std::int64_t panels_per_group = 1;  // More than one only with chunks.
  // Of K, or of a chunk of it: sums that are added to those in scratch.
  SumRuns runs;
  // While a panel (its chunk) is computed, the next one is fetched into the second-level cache,
  // this many parts of it, each in the time of one register tile. 0: not at all.
  std::int64_t prefetch_parts = 0;
};

std::string ToString(const ContractionSchedule& schedule);

// The best known for `kernel`, one of MicroKernelsOf; with register tiles of at most `tile_rows`
// rows, or as many as registers allow.
Result<ContractionSchedule> ScheduleContraction(const ContractionFunc& func, MicroKernel kernel,
                                                const CpuMachine& machine,
                                                std::int64_t tile_rows = INT64_MAX);
Result<LaunchShape> LaunchShapeOf(const ContractionFunc& func, const ContractionSchedule& schedule,
                                  const CpuMachine& machine);

}  // namespace stoker::cpu
