// The part of ScheduleContraction that is for f32 in bf16 parts.
#pragma once

#include "compiler/schedule/cpu/contraction_plan.h"

namespace stoker::cpu {

// Whether a task may split all that lies between its first and its last element of A and read it in
// place: a convolution whose pixels are whole granules.
bool CanReadSpan(const ContractionFunc& func, const ContractionPlan& plan);
// Chooses units_per_task, chunk, panels_per_task and how much of A is copied at a time. `depth`:
// padded K, or what is typical for it.
void CutTasksInParts(ContractionPlan& plan, std::int64_t depth, const CpuMachine& machine);

}  // namespace stoker::cpu
