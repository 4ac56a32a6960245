// Which threads of a GPU do what of attention.
#pragma once

#include "compiler/ir/attention_func.h"
#include "compiler/machine/gpu_machine.h"
#include "compiler/schedule/cuda/cuda_schedule.h"
#include "protocol/base/result.h"

namespace stoker::cuda {

// A warp has 16 queries, and what it multiplies goes through tensor cores. Unimplemented, saying
// what, for what they do not take: other than bf16 or f16, heads of other than 16, 32, ..., 96 or
// 128 numbers, masks.
Result<CudaSchedule> ScheduleAttention(const AttentionFunc& func, const GpuMachine& machine);

}  // namespace stoker::cuda
