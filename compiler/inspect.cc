// Inspect: the stages of a compile as text.
#include <algorithm>

#include "compiler/codegen/codegen.h"
#include "compiler/compile.h"
#include "compiler/launch_plan_of.h"
#include "compiler/launch_plan_text.h"
#include "compiler/pipeline.h"

namespace stoker {

Result<std::vector<Listing>> Inspect(const CompileRequest& request,
                                     std::span<const std::string> sections) {
  STOKER_TRY(const PipelineResult pipeline,
             RunPipeline(request.graph, request.target, request.options));
  PlannedLaunches planned;
  const auto needs_plan = [](const std::string& section) {
    return section != "graph" && section != "groups";
  };
  if (std::any_of(sections.begin(), sections.end(), needs_plan)) {
    planned = PlanLaunches(pipeline, request.target, KernelToolchain(request.target));
  }
  std::vector<Listing> listings;
  for (const std::string& section : sections) {
    std::string text;
    if (section == "graph") {
      text = PrintGraph(pipeline.graph);
    } else if (section == "groups") {
      text = ToString(pipeline.grouping, pipeline.graph);
    } else if (section == "plan") {
      text = ToString(planned.plan, pipeline.kernels.kernels) +
             ToString(pipeline.memory, pipeline.program);
    } else if (section == "loops" || section == "schedules" || section == "llvm" ||
               section == "asm") {
      for (std::size_t i = 0; i < planned.kernels.size(); ++i) {
        const ScheduledKernel& kernel = pipeline.kernels.kernels[i];
        const Step& step = pipeline.program.steps[planned.kernels[i].step];
        text += "# kernel " + std::to_string(i) + " " + planned.kernels[i].key.ToHex() + ": " +
                step.label + "\n";
        if (section == "loops") {
          text += ToString(*step.func());
          continue;
        }
        if (section == "schedules") {
          text += ToString(kernel);
          continue;
        }
        STOKER_TRY(const KernelListing listing, ListKernel(kernel, request.target));
        if (section == "asm" && listing.thread) text += "# " + ToString(*listing.thread) + "\n";
        text += section == "llvm" ? listing.llvm_ir : listing.assembly;
      }
    } else {
      return InvalidArgument("There is no section '" + section +
                             "'; there are graph, groups, loops, schedules, plan, llvm, asm.");
    }
    listings.push_back({section, std::move(text)});
  }
  return listings;
}

}  // namespace stoker
