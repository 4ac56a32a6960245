#include "compiler/launch_plan_text.h"

#include <algorithm>
#include <cstdio>

#include "compiler/schedule/program/memory_plan.h"
#include "protocol/graph/attribute_text.h"

namespace stoker {
namespace {

// One core of the class of machine that the share of a roofline is stated for.
constexpr double kPeakGflops = 250;
constexpr double kMemoryGbytes = 20;

// Time at the peak of one core, and which of the two limits it is.
std::string RooflineText(const Launch& launch) {
  if (!launch.flops.IsConstant() || !launch.bytes.IsConstant()) return "";
  const double compute = static_cast<double>(launch.flops.constant()) / kPeakGflops / 1e3;
  const double memory = static_cast<double>(launch.bytes.constant()) / kMemoryGbytes / 1e3;
  char line[64];
  std::snprintf(line, sizeof line, "  at least %.1f us by %s", std::max(compute, memory),
                compute > memory ? "flops" : "bytes");
  return line;
}

std::string BufferText(const BufferRef& buffer) {
  return " " + PlaceText(buffer.kind, buffer.index, buffer.offset) + "[" + buffer.size.ToString() +
         "]";
}

std::string StepText(const Launch& launch, const ScheduledKernel& kernel) {
  const auto* cuda = std::get_if<CudaSchedule>(&kernel.schedule);
  std::string text = "  kernel " + std::to_string(launch.kernel) + "  " + launch.label + "\n    ";
  if (cuda != nullptr) {
    text += launch.tasks.ToString() + " blocks of " + std::to_string(cuda->threads) + " threads";
  } else {
    text += "tasks " + launch.tasks.ToString() + ", in chunks of at least " +
            std::to_string(launch.min_tasks_per_chunk) + "; scratch " +
            std::to_string(launch.scratch_bytes);
  }
  if (!launch.dims.empty()) text += "; dims " + Shape(launch.dims).ToString();
  text += "\n    flops " + launch.flops.ToString() + "  bytes " + launch.bytes.ToString() +
          (cuda == nullptr ? RooflineText(launch) : "") + "\n   ";
  for (const BufferRef& buffer : launch.buffers) text += BufferText(buffer);
  return text + "\n";
}

std::string StepText(const HostCall& call) {
  std::string text = "  host call ";
  AppendQuoted(call.target, text);
  for (const HostTensor& operand : call.operands) {
    text += "\n    reads " + operand.type.ToString() + BufferText(operand.buffer);
  }
  for (const HostTensor& result : call.results) {
    text += "\n    writes " + result.type.ToString() + BufferText(result.buffer);
  }
  return text + "\n";
}

std::string UpdatesText(const LaunchPlan& plan) {
  std::string text;
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    const std::int32_t input = plan.outputs[i].updates_input;
    if (input < 0) continue;
    text += text.empty() ? "updates" : ",";
    text += " input" + std::to_string(input) + " by output" + std::to_string(i);
  }
  return text.empty() ? text : text + "\n";
}

}  // namespace

std::string ToString(const LaunchPlan& plan, std::span<const ScheduledKernel> kernels) {
  std::string text = "arena " + plan.arena_bytes.ToString() + " bytes, " +
                     plan.arena_zero_bytes.ToString() + " of them zeros; prepared " +
                     plan.prepared_bytes.ToString() + ", while preparing " +
                     plan.prepare_arena_bytes.ToString() + "\nprepare\n";
  for (const Launch& launch : plan.prepare) text += StepText(launch, kernels[launch.kernel]);
  text += UpdatesText(plan);
  text += "launches\n";
  for (const PlanStep& step : plan.steps) {
    const auto* launch = std::get_if<Launch>(&step);
    text += launch == nullptr ? StepText(std::get<HostCall>(step))
                              : StepText(*launch, kernels[launch->kernel]);
  }
  return text;
}

}  // namespace stoker
