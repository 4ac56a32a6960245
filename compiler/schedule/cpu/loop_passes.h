// Passes over LoopFuncs.
#pragma once

#include "compiler/ir/loop_func.h"
#include "compiler/machine/cpu_machine.h"

namespace stoker::cpu {

// Merges neighbouring dims through which every access steps as through one.
void CollapseLoops(LoopFunc& func);

// Divides the work into tasks: chooses which dims of a pointwise function are outer ones, splitting
// one if need be, and splits the kept lanes of a reduction when it has few outer points.
void SplitLoops(LoopFunc& func, const CpuTaskLimits& limits);

}  // namespace stoker::cpu
