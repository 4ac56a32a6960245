// Memory plan: storages -> offsets in arenas.
#pragma once

#include <vector>

#include "compiler/schedule/program.h"
#include "protocol/artifact/launch_plan.h"

namespace stoker {

struct MemoryPlan {
  std::vector<SymDim> offsets;  // Per storage; of those in an arena.
  SymDim arena_bytes;
  SymDim arena_zero_bytes;  // See LaunchPlan.
  SymDim prepared_bytes;
  SymDim prepare_arena_bytes;
};

// Storages of the two temporary arenas share bytes when no step needs both; larger ones are placed
// first, each at the lowest offset that is free while it lives. Storages with a halo share with
// nothing, since their zeros are written by nobody, and lie together at the start. Storages of
// symbolic size follow the others and are reused by later ones of the very same size.
MemoryPlan PlanMemory(const Program& program);

}  // namespace stoker
