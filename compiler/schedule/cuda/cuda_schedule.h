// CudaSchedule: how a kernel runs on a GPU. A value: it is chosen here, printed, part of the
// kernel's key, and emitted as it stands.
//
// Pointwise loops alone have one. A thread moves one element at a time: an operand is aligned to
// its elements, as far as a kernel knows, and a wider access needs more.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/kernel_func.h"
#include "compiler/machine/gpu_machine.h"
#include "protocol/base/result.h"
#include "protocol/graph/sym_dim.h"

namespace stoker {

// The points of the function in row-major order are cut into runs of threads * elements, one for
// each block; thread t of a block computes the points t, t + threads, ... of its run, so that what
// a warp reads at a time lies together.
struct CudaSchedule {
  int threads = 0;           // Of a block, along x.
  int elements = 0;          // Of a thread.
  SymDim grid;               // Blocks, along x. 0: there is nothing to launch.
  std::vector<SymDim> dims;  // What the kernel is passed after its buffers, in order.
};

struct CudaKernel {
  // The algorithm, or an equal one in the form that is emitted: every dim is an outer one, and
  // neighbours that step as one are merged.
  KernelFunc func;
  CudaSchedule schedule;
};

std::string ToString(const CudaSchedule& schedule);

// The best known schedule, and with it others that compute the same, for a tuner to measure: no two
// are the same. Unimplemented, naming the kind of kernel, for what has none.
Result<CudaKernel> ScheduleForCuda(const KernelFunc& func, const GpuMachine& machine);
Result<std::vector<CudaKernel>> CudaCandidates(const KernelFunc& func, const GpuMachine& machine);

}  // namespace stoker
