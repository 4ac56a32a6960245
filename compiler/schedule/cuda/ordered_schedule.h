// Which threads of a GPU do what of kernels whose work along one dim is ordered.
#pragma once

#include "compiler/ir/ordered_func.h"
#include "compiler/machine/gpu_machine.h"
#include "compiler/schedule/cuda/cuda_schedule.h"

namespace stoker::cuda {

// All but `dims`. A thread scans a row.
CudaSchedule ScheduleScan(const ScanFunc& func, const GpuMachine& machine);
// A thread counts how many elements of its row come before its own.
CudaSchedule ScheduleSort(const SortFunc& func, const GpuMachine& machine);
// A thread does all updates, in their order, of one point of the dims along which no two of them
// meet.
CudaSchedule ScheduleScatter(const ScatterFunc& func, const GpuMachine& machine);

}  // namespace stoker::cuda
