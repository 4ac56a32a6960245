// Rewrites of a LoopFunc that leave what it computes: the forms in which a target runs it.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/loop_func.h"

namespace stoker {

// Makes an outer dim the innermost loop of every stage: outer points are independent, so that they
// may as well be lanes.
void PushInside(LoopFunc& func, int dim);
// Makes these inner dims, which no stage reduces, outer ones: they are the last of them, in order.
// A stage that does not loop over one of them is done again for each of its points.
void PullOutside(LoopFunc& func, const std::vector<int>& dims);
// One set of reduced dims a stage. What is written to memory stays in the last part: it may
// overwrite what the others read.
void SplitStages(LoopFunc& func);
// Computes a temporary again where it is used, instead of keeping it. What a stage had of it
// already it has once.
void InlineTemporary(LoopFunc& func, std::uint32_t id);

// Keeps what several stages with the same loops load at the same points of a row, rather than to
// load it again.
void KeepLoads(LoopFunc& func);

}  // namespace stoker
