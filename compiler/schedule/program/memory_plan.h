// Memory plan: storages -> offsets in arenas.
#pragma once

#include <string>
#include <vector>

#include "compiler/schedule/program/program.h"
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

// One line for each storage that a step uses: where it is, what it holds, and the first and the
// last of the steps, counted over the whole program, that use it.
std::string ToString(const MemoryPlan& plan, const Program& program);
std::string PlaceText(BufferKind kind, std::uint32_t index, const SymDim& offset);  // "arena+64".

}  // namespace stoker
