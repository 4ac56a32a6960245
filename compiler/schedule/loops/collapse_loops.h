// Rewrites of a LoopFunc that schedules of every target begin with.
#pragma once

#include "compiler/analysis/remap_dims.h"
#include "compiler/ir/loop_func.h"

namespace stoker {

// Merges neighbouring dims through which every access steps as through one.
void CollapseLoops(LoopFunc& func);

// All accesses, bodies and reductions of `func` over the new dims; loops and `over` are the
// caller's to set. False, with `func` unspecified, as in RemapBody.
[[nodiscard]] bool RemapLoop(const DimMapping& mapping, LoopFunc& func);

}  // namespace stoker
