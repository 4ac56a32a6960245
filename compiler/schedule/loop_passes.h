// Passes over LoopFuncs.
#pragma once

#include "compiler/ir/loop_func.h"

namespace stoker {

// Merges neighbouring dims through which every access steps as through one.
void CollapseLoops(LoopFunc& func);

// A task of a pointwise kernel computes about that many elements: enough to hide its start, few
// enough to stay in the first-level cache and to spread over the cores.
inline constexpr std::int64_t kMinTaskElements = 512;
inline constexpr std::int64_t kMaxTaskElements = 4096;
// Below this a kernel is one task.
inline constexpr std::int64_t kMinParallelElements = 8192;
// Reductions along other dims than the lanes compute at least that many lanes per task.
inline constexpr std::int64_t kMinTaskLanes = 64;
inline constexpr std::int64_t kWantedTasks = 8;

// Divides the work into tasks: chooses which dims of a pointwise function are outer ones, splitting
// one if need be, and splits the kept lanes of a reduction when it has few outer points.
void SplitLoops(LoopFunc& func);

}  // namespace stoker
