#include "compiler/pipeline.h"

#include "compiler/analysis/parameter_analysis.h"
#include "compiler/analysis/reads.h"
#include "compiler/schedule/fuse.h"
#include "compiler/schedule/lowering.h"
#include "compiler/schedule/order_groups.h"
#include "compiler/schedule/stored_values.h"
#include "compiler/transform/passes.h"

namespace stoker {

Result<PipelineResult> RunPipeline(const Graph& input, const Target& target,
                                   const CompileOptions& options) {
  Graph graph = input;
  const auto Pass = [&](auto pass) -> Status {
    STOKER_TRY(graph, pass(graph));
    return Ok();
  };

  // Graph to graph. Each pass leaves a verified, canonical graph: dead nodes gone, equal ones
  // merged.
  STOKER_RETURN_IF_ERROR(Pass(CanonicalizeOps));  // First: the other passes see fewer forms.
  STOKER_RETURN_IF_ERROR(Pass(FoldConstants));
  STOKER_RETURN_IF_ERROR(Pass(Simplify));
  STOKER_RETURN_IF_ERROR(Pass(FoldScaling));    // Needs affine chains free of identities.
  STOKER_RETURN_IF_ERROR(Pass(MergeSiblings));  // After scaling: merged weights take no scale.
  STOKER_RETURN_IF_ERROR(Pass(SplitReductions));
  STOKER_RETURN_IF_ERROR(Pass(Simplify));  // What the passes above leave behind.

  // Graph to groups.
  const Reads reads(graph);
  const std::vector<bool> prepared = FindPrepared(graph);
  Grouping grouping = FuseNodes(graph, reads, prepared);
  const StoredValues values = FindStoredValues(graph, reads, grouping);

  // Groups to kernels.
  const ScheduledGraph scheduled{graph,    reads,  prepared,
                                 grouping, values, OrderGroups(graph, reads, grouping)};
  STOKER_TRY(Program program, LowerGroups(scheduled, target, options.numerics));
  MemoryPlan memory = PlanMemory(program);
  return PipelineResult{std::move(graph), std::move(grouping), std::move(program),
                        std::move(memory)};
}

}  // namespace stoker
