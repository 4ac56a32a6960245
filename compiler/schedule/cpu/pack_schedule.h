// How B is packed.
#pragma once

#include <string>

#include "compiler/ir/contraction_func.h"
#include "compiler/machine/cpu_machine.h"
#include "compiler/schedule/cpu/launch_shape.h"

namespace stoker::cpu {

// A task is one panel.
struct PackSchedule {
  // Squares are transposed in registers, where K is contiguous in the source; otherwise each lane
  // is a column.
  bool transposed = false;
  int width = 1;  // Lanes, each kr elements of one column.
};

std::string ToString(const PackSchedule& schedule);
PackSchedule SchedulePack(const PackFunc& func, const CpuMachine& machine);
LaunchShape LaunchShapeOf(const PackFunc& func, const PackSchedule& schedule,
                          const CpuMachine& machine);

// K, padded as the layout asks for, and ceil(N / nr).
SymDim PaddedDepth(const PackFunc& func);
SymDim PanelsOf(const PackFunc& func);

}  // namespace stoker::cpu
