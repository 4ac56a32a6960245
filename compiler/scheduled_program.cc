#include "compiler/scheduled_program.h"

#include <map>
#include <string>

namespace stoker {

Result<ScheduledProgram> ScheduleSteps(const Program& program, const Target& target,
                                       std::uint32_t& failed) {
  ScheduledProgram scheduled;
  // What is one algorithm is scheduled once; and two may become one kernel.
  std::map<std::string, std::uint32_t> of_algorithm;
  std::map<std::string, std::uint32_t> of_kernel;
  for (const Step& step : program.steps) {
    if (step.func() == nullptr) {
      scheduled.kernel_of.push_back(kNoKernel);
      continue;
    }
    const auto [known, is_new] = of_algorithm.emplace(ToString(*step.func()), 0);
    if (is_new) {
      Result<ScheduledKernel> kernel = ScheduleKernel(*step.func(), target);
      if (!kernel.ok()) {
        failed = step.group;
        return kernel.error().WithContext(step.label);
      }
      const auto next = static_cast<std::uint32_t>(scheduled.kernels.size());
      const auto [same, is_other] = of_kernel.emplace(ToString(*kernel), next);
      if (is_other) scheduled.kernels.push_back(*std::move(kernel));
      known->second = same->second;
    }
    scheduled.kernel_of.push_back(known->second);
  }
  return scheduled;
}

}  // namespace stoker
