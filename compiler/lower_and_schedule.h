// From groups to kernels that have a schedule, for as many groups as that takes.
#pragma once

#include <map>
#include <vector>

#include "compiler/analysis/reads.h"
#include "compiler/machine/machine.h"
#include "compiler/schedule/fusion/group.h"
#include "compiler/schedule/lowering/lowering.h"
#include "compiler/schedule/program/program.h"
#include "compiler/scheduled_program.h"
#include "compiler/timing/laps.h"
#include "protocol/key/compile_options.h"
#include "protocol/key/target.h"

namespace stoker {

struct LoweringInput {
  const Graph& graph;
  const Reads& reads;
  const std::vector<bool>& prepared;
  const std::map<NodeId, WhilePrograms>& whiles;
  const Machine& machine;
  Numerics numerics;
  const Target& target;
};

struct LoweredGroups {
  Program program;
  ScheduledProgram kernels;
};

// Groups of which a kernel would be too long, or need more registers than there are, are cut in
// `grouping` until none does. An error, the kernel's, where that is so for a single node.
Result<LoweredGroups> LowerAndSchedule(const LoweringInput& input, Grouping& grouping, Laps& laps);

}  // namespace stoker
