// How scans, sorts and scatters run: kernels whose work along one dim is ordered.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/ordered_func.h"
#include "compiler/machine/cpu_machine.h"
#include "compiler/schedule/cpu/launch/launch_shape.h"
#include "protocol/base/result.h"

namespace stoker::cpu {

struct ScanSchedule {
  // Each lane scans by itself, along the last outer dim, in blocks of lane_block of them; or the
  // lanes scan neighbours together.
  bool lanes_are_outer = false;
  std::int64_t lane_block = 0;
  int width = 1;   // Lanes.
  int unroll = 1;  // Vectors of them.
};

struct SortSchedule {
  // The first results are found by insertion; otherwise all by merging.
  bool insertion = false;
  // Keys of 32 bits are sorted together with their positions, as key << 32 | position; others in
  // an array beside that of the positions.
  bool packed = true;
};

// Updates of one element follow each other in their order, in one task: how many threads there are
// does not show. Tasks are parts of the window that no index moves.
struct ScatterSchedule {
  int width = 1;  // Lanes along the last dim of the window; 1: one update after the other.
  int unroll = 1;
  std::vector<int> outer;  // Dims of the updates: each of their points is a task of its own ...
  std::int64_t lane_block = 0;  // ... for so many points of the last dim; 0: for all.
};

std::string ToString(const ScanSchedule& schedule);
std::string ToString(const SortSchedule& schedule);
std::string ToString(const ScatterSchedule& schedule);

ScanSchedule ScheduleScan(const ScanFunc& func, const CpuMachine& machine);
Result<SortSchedule> ScheduleSort(const SortFunc& func);
ScatterSchedule ScheduleScatter(const ScatterFunc& func, const CpuMachine& machine);

// Of an array of u64 that a sort keeps in scratch, 0 where it has memory to work in.
std::int64_t SortArrayBytes(const SortFunc& func, const SortSchedule& schedule);

LaunchShape LaunchShapeOf(const ScanFunc& func, const ScanSchedule& schedule,
                          const CpuMachine& machine);
LaunchShape LaunchShapeOf(const SortFunc& func, const SortSchedule& schedule,
                          const CpuMachine& machine);
LaunchShape LaunchShapeOf(const ScatterFunc& func, const ScatterSchedule& schedule,
                          const CpuMachine& machine);

}  // namespace stoker::cpu
