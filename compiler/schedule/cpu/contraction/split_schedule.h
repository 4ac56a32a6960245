// The part of ScheduleContraction that is for f32 in bf16 parts.
#pragma once

#include "compiler/schedule/cpu/contraction/contraction_plan.h"

namespace stoker::cpu {

// Whether all may be split that lies between a block's first and its last element of A and be
// read in place: a convolution whose pixels are whole granules.
bool CanReadSpan(const ContractionFunc& func, const ContractionPlan& plan);
// Chooses units_per_block, chunk, panels_per_group and how much of A is copied at a time. `depth`:
// padded K, or what is typical for it.
void CutBlocksInParts(ContractionPlan& plan, std::int64_t depth, const CpuMachine& machine);

}  // namespace stoker::cpu
