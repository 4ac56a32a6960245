#include "compiler/kernel/scheduled_kernel.h"

namespace stoker {

std::string ToString(const ScheduledKernel& kernel) {
  return ToString(kernel.func) +
         std::visit([](const auto& schedule) { return ToString(schedule); }, kernel.schedule);
}

Result<ScheduledKernel> ScheduleKernel(const KernelFunc& func, const Target& target) {
  STOKER_RETURN_IF_ERROR(Verify(func));
  STOKER_TRY(const CpuMachine machine, CpuMachineOf(target));
  STOKER_TRY(CpuKernel kernel, ScheduleForCpu(func, machine));
  return ScheduledKernel{std::move(kernel.func), std::move(kernel.schedule)};
}

Result<std::vector<ScheduledKernel>> Candidates(const KernelFunc& func, const Target& target) {
  STOKER_RETURN_IF_ERROR(Verify(func));
  STOKER_TRY(const CpuMachine machine, CpuMachineOf(target));
  STOKER_TRY(std::vector<CpuKernel> kernels, CpuCandidates(func, machine));
  std::vector<ScheduledKernel> candidates;
  for (CpuKernel& kernel : kernels) {
    candidates.push_back({std::move(kernel.func), std::move(kernel.schedule)});
  }
  return candidates;
}

}  // namespace stoker
