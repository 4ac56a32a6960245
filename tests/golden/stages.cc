#include "tests/golden/stages.h"

#include <algorithm>

#include "compiler/codegen/codegen.h"
#include "compiler/compile.h"
#include "compiler/launch_plan_of.h"
#include "compiler/launch_plan_text.h"
#include "compiler/machine/machine.h"
#include "compiler/pipeline.h"
#include "compiler/transform/passes.h"

namespace stoker::golden {
namespace {

struct NamedPass {
  std::string_view name;
  Result<Graph> (*pass)(const Graph&, const FusionLimits&);
};

template <Result<Graph> (*pass)(const Graph&)>
Result<Graph> ForAny(const Graph& graph, const FusionLimits&) {
  return pass(graph);
}

constexpr NamedPass kPasses[] = {
    {"expand_scans", ForAny<ExpandScans>},     {"canonicalize_ops", ForAny<CanonicalizeOps>},
    {"expand_products", ExpandProducts},       {"split_product_dims", SplitProductDims},
    {"fold_constants", ForAny<FoldConstants>}, {"simplify", ForAny<Simplify>},
    {"fold_scaling", ForAny<FoldScaling>},     {"merge_siblings", ForAny<MergeSiblings>},
    {"merge_summands", ForAny<MergeSummands>}, {"pad_products", PadProducts},
    {"split_reductions", SplitReductions},
};

// The algorithm of each kernel, in order of their first launch.
std::string LoopsText(const PipelineResult& pipeline) {
  std::string text;
  std::vector<std::string> seen;
  for (const Step& step : pipeline.program.steps) {
    if (step.func() == nullptr) continue;
    const std::string loops = ToString(*step.func());
    if (std::find(seen.begin(), seen.end(), loops) != seen.end()) continue;
    text += "kernel " + std::to_string(seen.size()) + ": " + step.label + "\n" + loops;
    seen.push_back(loops);
  }
  return text;
}

// The label of the first step that launches a kernel.
std::string LabelOf(const PipelineResult& pipeline, std::size_t kernel) {
  const auto& of = pipeline.kernels.kernel_of;
  const auto first = std::find(of.begin(), of.end(), kernel) - of.begin();
  return "kernel " + std::to_string(kernel) + ": " +
         pipeline.program.steps[static_cast<std::size_t>(first)].label + "\n";
}

// Kernels as they are emitted.
std::string SchedulesText(const PipelineResult& pipeline) {
  std::string text;
  for (std::size_t i = 0; i < pipeline.kernels.kernels.size(); ++i) {
    text += LabelOf(pipeline, i) + ToString(pipeline.kernels.kernels[i]);
  }
  return text;
}

// PTX, for CUDA.
Result<std::string> AssemblyText(const PipelineResult& pipeline, const Target& target) {
  std::string text;
  for (std::size_t i = 0; i < pipeline.kernels.kernels.size(); ++i) {
    STOKER_TRY(const KernelListing listing, ListKernel(pipeline.kernels.kernels[i], target));
    text += LabelOf(pipeline, i) + listing.assembly;
  }
  return text;
}

}  // namespace

Result<std::string> PrintStage(std::string_view stage, const Graph& graph) {
  std::string_view target_name = "cpu/x86-64-v4";
  CompileOptions options;
  if (const std::size_t space = stage.find(' '); space != std::string_view::npos) {
    target_name = stage.substr(space + 1);
    stage = stage.substr(0, space);
  }
  if (const std::size_t space = target_name.find(' '); space != std::string_view::npos) {
    const auto numerics = ParseNumerics(target_name.substr(space + 1));
    if (!numerics) return InvalidArgument("There are no such numerics: " + std::string(stage));
    options.numerics = *numerics;
    target_name = target_name.substr(0, space);
  }
  STOKER_TRY(const Target target, Target::Parse(target_name));
  for (const auto& [name, pass] : kPasses) {
    if (name != stage) continue;
    STOKER_TRY(const auto machine, MachineOf(target));
    STOKER_TRY(const Graph result, pass(graph, machine->fusion_limits()));
    return PrintGraph(result);
  }
  STOKER_TRY(const PipelineResult pipeline, RunPipeline(graph, target, options));
  if (stage == "graph") return PrintGraph(pipeline.graph);
  if (stage == "loops") return LoopsText(pipeline);
  if (stage == "groups") return ToString(pipeline.grouping, pipeline.graph);
  if (stage == "memory") return ToString(pipeline.memory, pipeline.program);
  if (stage == "schedules") return SchedulesText(pipeline);
  if (stage == "assembly") return AssemblyText(pipeline, target);
  if (stage == "plan") {
    return ToString(PlanLaunches(pipeline, target, CompilerEpoch()).plan, pipeline.kernels.kernels);
  }
  return InvalidArgument("There is no stage '" + std::string(stage) + "'.");
}

}  // namespace stoker::golden
