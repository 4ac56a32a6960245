#include "compiler/launch_plan_text.h"

#include <algorithm>
#include <cstdio>

#include "compiler/schedule/program/memory_plan.h"

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

std::string LaunchText(const Launch& launch) {
  std::string text = "  kernel " + std::to_string(launch.kernel) + "  " + launch.label + "\n";
  text += "    tasks " + launch.tasks.ToString() + ", in chunks of at least " +
          std::to_string(launch.min_tasks_per_chunk) + "; scratch " +
          std::to_string(launch.scratch_bytes);
  if (!launch.dims.empty()) text += "; dims " + Shape(launch.dims).ToString();
  text += "\n    flops " + launch.flops.ToString() + "  bytes " + launch.bytes.ToString() +
          RooflineText(launch) + "\n   ";
  for (const BufferRef& buffer : launch.buffers) {
    text += " " + PlaceText(buffer.kind, buffer.index, buffer.offset) + "[" +
            buffer.size.ToString() + "]";
  }
  return text + "\n";
}

std::string LaunchesText(const std::vector<Launch>& launches) {
  std::string text;
  for (const Launch& launch : launches) text += LaunchText(launch);
  return text;
}

}  // namespace

std::string ToString(const LaunchPlan& plan) {
  return "arena " + plan.arena_bytes.ToString() + " bytes, " + plan.arena_zero_bytes.ToString() +
         " of them zeros; prepared " + plan.prepared_bytes.ToString() + ", while preparing " +
         plan.prepare_arena_bytes.ToString() + "\nprepare\n" + LaunchesText(plan.prepare) +
         "launches\n" + LaunchesText(plan.launches);
}

}  // namespace stoker
