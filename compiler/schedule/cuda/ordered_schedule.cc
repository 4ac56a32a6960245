#include "compiler/schedule/cuda/ordered_schedule.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "compiler/schedule/loops/dim_table.h"

namespace stoker::cuda {
namespace {

CudaSchedule Threads(const std::vector<SymDim>& extents, std::vector<int> dims,
                     const GpuMachine& machine) {
  SymDim points = 1;
  for (const int dim : dims) points = points * extents[static_cast<std::size_t>(dim)];
  CudaSchedule schedule;
  schedule.threads = machine.blocks.threads;
  schedule.blocks_per_sm = machine.blocks.resident_threads / schedule.threads;
  schedule.how = ThreadSchedule{std::move(dims)};
  schedule.grid = SymDim::CeilDiv(points, schedule.threads);
  return schedule;
}

}  // namespace

CudaSchedule ScheduleScan(const ScanFunc& func, const GpuMachine& machine) {
  std::vector<int> dims;
  for (std::size_t dim = 0; dim < func.outer.size(); ++dim) dims.push_back(static_cast<int>(dim));
  return Threads(func.outer, std::move(dims), machine);
}

CudaSchedule ScheduleSort(const SortFunc& func, const GpuMachine& machine) {
  std::vector<SymDim> extents = func.outer;
  extents.push_back(func.extent);
  std::vector<int> dims;
  for (std::size_t dim = 0; dim < extents.size(); ++dim) dims.push_back(static_cast<int>(dim));
  return Threads(extents, std::move(dims), machine);
}

CudaSchedule ScheduleScatter(const ScatterFunc& func, const GpuMachine& machine) {
  std::vector<int> dims;
  for (std::size_t i = 0; i < func.dims.size(); ++i) {
    if (KeepsApart(func, static_cast<int>(i))) dims.push_back(static_cast<int>(i));
  }
  return Threads(func.dims, std::move(dims), machine);
}

}  // namespace stoker::cuda
