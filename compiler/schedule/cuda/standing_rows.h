// Rows of one block that stands: what it has of them in shared memory.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/ir/access.h"
#include "compiler/ir/loop_func.h"
#include "compiler/machine/gpu_machine.h"
#include "compiler/schedule/cuda/cuda_schedule.h"

namespace stoker::cuda {

struct StandingRows {
  // What one access has there of a row.
  struct Staged {
    Access access;
    bool of_row = false;     // As it is in memory, for each team; otherwise for all, as f32.
    std::int64_t place = 0;  // Bytes from the start; those of one team follow the other's.
    std::int64_t bytes = 0;  // Of a row.
  };
  std::vector<Staged> staged;
  std::int64_t bytes = 0;

  // Null where it is loaded from memory when it is needed.
  const Staged* Find(const Access& access) const;
};

// Whether each row has elements of its own there.
bool IsOfRow(const LoopFunc& func, const Access& access);

// Of `rows.team` threads for each row. None where the elements of a row are not known, a thread has
// not as many vectors as any other, a stage loads what an earlier one stored, or what a row is
// loaded from does not lie in whole accesses of the copy engine.
std::optional<StandingRows> StandingRowsOf(const LoopFunc& func, const RowSchedule& rows, int width,
                                           int threads, const GpuMachine& machine);

}  // namespace stoker::cuda
