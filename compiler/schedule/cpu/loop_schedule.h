// How a LoopFunc runs: which dim the lanes lie along, what one task covers, where rows are kept.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "compiler/machine/cpu_machine.h"
#include "compiler/schedule/cpu/launch_shape.h"
#include "protocol/base/result.h"

namespace stoker::codegen {

// A temporary, or a reduction that keeps loop dims, in scratch: element (i_dims...) is at offset +
// sum of strides[k] * i_dims[k]. Rows are padded, so that whole vectors can be read and written.
struct ScratchRow {
  DType dtype = DType::kF32;
  std::vector<int> dims;
  std::vector<std::int64_t> strides;  // Elements.
  std::int64_t offset = 0;            // Bytes.
};

struct LoopSchedule {
  // An equal function in the form that is emitted: dims renumbered so that the lanes of most
  // accesses are contiguous and every dim that is parallel in all stages is an outer one; one set
  // of reduced dims a stage.
  LoopFunc func;
  // The dim that tasks cover in blocks: the last loop of every stage, reduced in none. -1: tasks
  // cover outer points only.
  int split_dim = -1;
  std::int64_t block = 0;
  std::map<std::uint32_t, ScratchRow> rows;  // By id; what is not here is a scalar in a register.
  LaunchShape launch;
};

Result<LoopSchedule> ScheduleLoop(const LoopFunc& func, const CpuMachine& machine);

// Vector width and number of vectors in flight of a stage.
struct StageShape {
  int width = 1;
  int unroll = 1;
};
StageShape ShapeOfStage(const LoopSchedule& schedule, const Stage& stage,
                        const CpuMachine& machine);

}  // namespace stoker::codegen
