#include "runtime/plan_uses.h"

#include "protocol/artifact/step_buffers.h"

namespace stoker {

PlanUses UsesOf(const LaunchPlan& plan) {
  PlanUses uses;
  uses.last_of_inputs.assign(plan.inputs.size(), -1);
  uses.first_of_outputs.assign(plan.outputs.size(), -1);
  const auto end = static_cast<std::int64_t>(plan.steps.size());
  for (std::int64_t step = 0; step < end; ++step) {
    ForEachBuffer(plan.steps[static_cast<std::size_t>(step)], [&](const BufferRef& buffer) {
      if (buffer.kind == BufferKind::kInput) uses.last_of_inputs[buffer.index] = step;
      if (buffer.kind != BufferKind::kOutput) return;
      std::int64_t& first = uses.first_of_outputs[buffer.index];
      if (first < 0) first = step;
    });
  }
  for (const OutputSpec& output : plan.outputs) {
    for (const std::int32_t input : {output.same_as_input, output.updates_input}) {
      if (input >= 0) uses.last_of_inputs[static_cast<std::size_t>(input)] = end;
    }
  }
  return uses;
}

}  // namespace stoker
