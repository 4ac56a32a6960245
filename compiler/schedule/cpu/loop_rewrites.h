// Rewrites of a LoopFunc that leave what it computes: the forms in which a CPU runs it.
#pragma once

#include <cstdint>

#include "compiler/ir/loop_func.h"

namespace stoker::cpu {

// Makes an outer dim the innermost loop of every stage: outer points are independent, so that they
// may as well be lanes.
void PushInside(LoopFunc& func, int dim);
// Makes inner dims that every stage loops over and none reduces outer ones, all but the innermost
// loop.
void PullOutside(LoopFunc& func);
// One set of reduced dims a stage. What is written to memory stays in the last part: it may
// overwrite what the others read.
void SplitStages(LoopFunc& func);
// Computes a temporary again where it is used, instead of keeping it.
void InlineTemporary(LoopFunc& func, std::uint32_t id);

}  // namespace stoker::cpu
