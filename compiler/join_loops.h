// Fewer launches on a GPU: loops that know nothing of each other share a kernel.
#pragma once

#include "compiler/machine/gpu_machine.h"
#include "compiler/scheduled_program.h"

namespace stoker {

// Loops of known sizes whose points are computed by themselves, each of which takes no longer than
// a launch costs. They run where the first of them stood: what a later one reads is there by then,
// and nobody reads any more what it writes over.
// `kernels`: those of `program`. Whether any were joined: then it needs others.
bool JoinLoops(Program& program, const ScheduledProgram& kernels, const GpuMachine& machine);

}  // namespace stoker
