#include "compiler/kernel/scheduled_kernel.h"

namespace stoker {
namespace {

template <typename Kernel>
ScheduledKernel Scheduled(Kernel kernel) {
  return {std::move(kernel.func), std::move(kernel.schedule)};
}

template <typename Kernel>
std::vector<ScheduledKernel> AllScheduled(std::vector<Kernel> kernels) {
  std::vector<ScheduledKernel> scheduled;
  for (Kernel& kernel : kernels) scheduled.push_back(Scheduled(std::move(kernel)));
  return scheduled;
}

LaunchShape ShapeOf(const CpuSchedule& schedule) { return schedule.launch; }

LaunchShape ShapeOf(const CudaSchedule& schedule) {
  LaunchShape shape;
  shape.tasks = schedule.grid;
  shape.dims = schedule.dims;
  return shape;
}

}  // namespace

LaunchShape ScheduledKernel::launch() const {
  return std::visit([](const auto& s) { return ShapeOf(s); }, schedule);
}

std::string ToString(const ScheduledKernel& kernel) {
  return ToString(kernel.func) +
         std::visit([](const auto& schedule) { return ToString(schedule); }, kernel.schedule);
}

Result<ScheduledKernel> ScheduleKernel(const KernelFunc& func, const Target& target) {
  STOKER_RETURN_IF_ERROR(Verify(func));
  if (target.kind() == TargetKind::kCuda) {
    STOKER_TRY(const GpuMachine machine, GpuMachineOf(target));
    STOKER_TRY(CudaKernel kernel, ScheduleForCuda(func, machine));
    return Scheduled(std::move(kernel));
  }
  STOKER_TRY(const CpuMachine machine, CpuMachineOf(target));
  STOKER_TRY(CpuKernel kernel, ScheduleForCpu(func, machine));
  return Scheduled(std::move(kernel));
}

Result<std::vector<ScheduledKernel>> Candidates(const KernelFunc& func, const Target& target) {
  STOKER_RETURN_IF_ERROR(Verify(func));
  if (target.kind() == TargetKind::kCuda) {
    STOKER_TRY(const GpuMachine machine, GpuMachineOf(target));
    STOKER_TRY(std::vector<CudaKernel> kernels, CudaCandidates(func, machine));
    return AllScheduled(std::move(kernels));
  }
  STOKER_TRY(const CpuMachine machine, CpuMachineOf(target));
  STOKER_TRY(std::vector<CpuKernel> kernels, CpuCandidates(func, machine));
  return AllScheduled(std::move(kernels));
}

}  // namespace stoker
