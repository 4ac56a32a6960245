// LoopSchedule: how a LoopFunc runs: what one task covers, how many lanes are in flight; and what
// follows: where rows are kept.
#pragma once

#include <climits>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/ir/loop_func.h"
#include "compiler/machine/cpu_machine.h"
#include "compiler/schedule/cpu/launch/launch_shape.h"
#include "protocol/base/result.h"

namespace stoker::cpu {

// Vector width and number of vectors in flight of a stage.
struct StageShape {
  int width = 1;
  int unroll = 1;
};

struct LoopSchedule {
  // The dim that tasks cover in blocks: the last loop of every stage, reduced in none. -1: tasks
  // cover outer points only.
  int split_dim = -1;
  std::int64_t block = 0;
  // The one loop of temporaries whose extent is symbolic, and up to which extent they are kept; in
  // a launch with a longer one they are computed again where they are used. -1: there is none.
  int row_dim = -1;
  std::int64_t row_limit = 0;
  std::vector<StageShape> stages;  // Of the function's, in order.
};

struct ScheduledLoop {
  // An equal function in the form that is emitted: loops merged and cut into tasks, dims numbered
  // so that the lanes of most accesses are contiguous and every dim that is parallel in all stages
  // is an outer one; one set of reduced dims a stage.
  LoopFunc func;
  LoopSchedule schedule;
};

std::string ToString(const LoopSchedule& schedule);

// The best known, with at most so many vectors in flight.
Result<ScheduledLoop> ScheduleLoop(const LoopFunc& algorithm, const CpuMachine& machine,
                                   int max_unroll = INT_MAX);
Result<LaunchShape> LaunchShapeOf(const LoopFunc& func, const LoopSchedule& schedule,
                                  const CpuMachine& machine);

// A temporary, or a reduction that keeps loop dims, in scratch: element (i_dims...) is at offset +
// sum of strides[k] * i_dims[k]. Rows are padded, so that whole vectors can be read and written.
struct ScratchRow {
  DType dtype = DType::kF32;
  std::vector<int> dims;
  std::vector<std::int64_t> strides;  // Elements.
  std::int64_t offset = 0;            // Bytes.
};

struct LoopRows {
  std::map<std::uint32_t, ScratchRow> rows;  // By id; what is not here is a scalar in a register.
  std::int64_t scratch_bytes = 0;
};

// Unimplemented where a row's size is not known when the kernel is compiled.
Result<LoopRows> PlaceRows(const LoopFunc& func, const LoopSchedule& schedule);

// The function for launches in which `row_dim` is longer than `row_limit`.
LoopFunc WithoutRows(const LoopFunc& func, const LoopSchedule& schedule);

}  // namespace stoker::cpu
