#include "compiler/pipeline.h"

#include "compiler/analysis/parameter_analysis.h"
#include "compiler/analysis/reads.h"
#include "compiler/lower_and_schedule.h"
#include "compiler/machine/machine.h"
#include "compiler/schedule/fusion/fuse.h"
#include "compiler/transform/passes.h"

namespace stoker {

Result<PipelineResult> RunPipeline(const Graph& input, const Target& target,
                                   const CompileOptions& options, const SpanSink& span) {
  STOKER_TRY(const std::unique_ptr<const Machine> machine, MachineOf(target));
  const FusionLimits& limits = machine->fusion_limits();
  Graph graph = input;
  Laps laps(span);
  const auto Pass = [&](auto pass, std::string_view name) -> Status {
    STOKER_TRY(graph, pass(graph));
    laps.End(name);
    return Ok();
  };

  // Graph to graph. Each pass leaves a verified, canonical graph: dead nodes gone, equal ones
  // merged.
  STOKER_RETURN_IF_ERROR(Pass(CanonicalizeOps, "canonicalize"));  // First: others see fewer forms.
  const auto expand_products = [&](const Graph& g) { return ExpandProducts(g, limits); };
  STOKER_RETURN_IF_ERROR(Pass(expand_products, "expand products"));
  STOKER_RETURN_IF_ERROR(Pass(FoldConstants, "fold constants"));
  STOKER_RETURN_IF_ERROR(Pass(Simplify, "simplify"));
  // Needs affine chains free of identities.
  STOKER_RETURN_IF_ERROR(Pass(FoldScaling, "fold scaling"));
  // After scaling: merged weights take no scale.
  STOKER_RETURN_IF_ERROR(Pass(MergeSiblings, "merge siblings"));
  STOKER_RETURN_IF_ERROR(Pass(MergeSummands, "merge summands"));
  const auto split_reductions = [&](const Graph& g) { return SplitReductions(g, limits); };
  STOKER_RETURN_IF_ERROR(Pass(split_reductions, "split reductions"));
  STOKER_RETURN_IF_ERROR(Pass(Simplify, "simplify again"));  // What the passes above leave behind.

  // Graph to groups.
  const Reads reads(graph);
  const std::vector<bool> prepared = FindPrepared(graph, limits);
  laps.End("analyze");
  Grouping grouping = FuseNodes(graph, reads, prepared, limits);
  laps.End("fuse");

  // Groups to kernels. What one kernel cannot hold becomes two, and all is lowered again: it is
  // known what a group reads from memory when its schedule is.
  STOKER_TRY(LoweredGroups lowered,
             LowerAndSchedule({graph, reads, prepared, *machine, options.numerics, target},
                              grouping, laps));
  auto& [program, kernels] = lowered;
  MemoryPlan memory = PlanMemory(program);
  laps.End("plan memory");
  return PipelineResult{std::move(graph), std::move(grouping), std::move(program),
                        std::move(kernels), std::move(memory)};
}

}  // namespace stoker
