#include "compiler/pipeline.h"

#include <map>

#include "compiler/analysis/parameter_analysis.h"
#include "compiler/analysis/reads.h"
#include "compiler/lower_and_schedule.h"
#include "compiler/machine/machine.h"
#include "compiler/schedule/fusion/fuse.h"
#include "compiler/transform/passes.h"
#include "compiler/transform/region_graph.h"

namespace stoker {

namespace {

struct LoweredGraph {
  Graph graph;  // After the graph passes.
  Grouping grouping;
  LoweredGroups groups;
};

// What all graphs of one request are lowered for.
struct LoweringTarget {
  const Target& target;
  const Machine& machine;
  const CompileOptions& options;
};

Result<LoweredGraph> LowerGraph(const Graph& input, const LoweringTarget& to, Laps& laps);

// Regions become programs that those of the graphs around them take in.
Result<std::map<NodeId, WhilePrograms>> LowerWhiles(const Graph& graph, const LoweringTarget& to,
                                                    Laps& laps) {
  std::map<NodeId, WhilePrograms> whiles;
  if (!to.machine.runs_loops()) return whiles;  // Lowering says so.
  for (NodeId id = 0; id < graph.nodes().size(); ++id) {
    const Node& node = graph.node(id);
    if (node.kind != OpKind::kWhile) continue;
    const auto lower = [&](Result<Graph> region, AttrName name) -> Result<Program> {
      STOKER_TRY(const Graph region_graph, std::move(region));
      Result<LoweredGraph> lowered = LowerGraph(region_graph, to, laps);
      if (lowered.ok()) return std::move(lowered->groups.program);
      return lowered.error().WithContext("node " + std::to_string(id) + " (while), its " +
                                         std::string(Name(name)));
    };
    WhilePrograms programs;
    STOKER_TRY(programs.condition, lower(ConditionGraph(node), AttrName::kCondition));
    STOKER_TRY(programs.body, lower(BodyGraph(node), AttrName::kBody));
    whiles.emplace(id, std::move(programs));
  }
  return whiles;
}

Result<LoweredGraph> LowerGraph(const Graph& input, const LoweringTarget& to, Laps& laps) {
  const auto& [target, machine, options] = to;
  const FusionLimits& limits = machine.fusion_limits();
  Graph graph = input;
  const auto Pass = [&](auto pass, std::string_view name) -> Status {
    STOKER_TRY(graph, pass(graph));
    laps.End(name);
    return Ok();
  };

  // Graph to graph. Each pass leaves a verified, canonical graph: dead nodes gone, equal ones
  // merged.
  // Where there are no loops, lowering names what it cannot do.
  if (machine.runs_loops()) STOKER_RETURN_IF_ERROR(Pass(ExpandScans, "expand scans"));
  STOKER_RETURN_IF_ERROR(Pass(CanonicalizeOps, "canonicalize"));  // First: others see fewer forms.
  const auto expand_products = [&](const Graph& g) { return ExpandProducts(g, limits); };
  STOKER_RETURN_IF_ERROR(Pass(expand_products, "expand products"));
  // Before what sees the reshapes that it leaves vanish.
  const auto split_dims = [&](const Graph& g) { return SplitProductDims(g, limits); };
  STOKER_RETURN_IF_ERROR(Pass(split_dims, "split product dims"));
  STOKER_RETURN_IF_ERROR(Pass(FoldConstants, "fold constants"));
  STOKER_RETURN_IF_ERROR(Pass(Simplify, "simplify"));
  // Needs affine chains free of identities.
  STOKER_RETURN_IF_ERROR(Pass(FoldScaling, "fold scaling"));
  // After scaling: merged weights take no scale.
  STOKER_RETURN_IF_ERROR(Pass(MergeSiblings, "merge siblings"));
  STOKER_RETURN_IF_ERROR(Pass(MergeSummands, "merge summands"));
  // After what merges products; before what would take a reduction along.
  const auto pad_products = [&](const Graph& g) { return PadProducts(g, limits); };
  STOKER_RETURN_IF_ERROR(Pass(pad_products, "pad products"));
  const auto split_reductions = [&](const Graph& g) { return SplitReductions(g, limits); };
  STOKER_RETURN_IF_ERROR(Pass(split_reductions, "split reductions"));
  STOKER_RETURN_IF_ERROR(Pass(Simplify, "simplify again"));  // What the passes above leave behind.

  // Regions to programs, each by the same way.
  STOKER_TRY(const auto whiles, LowerWhiles(graph, to, laps));

  // Graph to groups.
  const Reads reads(graph);
  const std::vector<bool> prepared = FindPrepared(graph, limits);
  laps.End("analyze");
  Grouping grouping = FuseNodes(graph, reads, prepared, limits);
  laps.End("fuse");

  // Groups to kernels. What one kernel cannot hold becomes two, and all is lowered again: it is
  // known what a group reads from memory when its schedule is.
  STOKER_TRY(LoweredGroups groups,
             LowerAndSchedule({graph, reads, prepared, whiles, machine, options.numerics, target},
                              grouping, laps));
  return LoweredGraph{std::move(graph), std::move(grouping), std::move(groups)};
}

}  // namespace

Result<PipelineResult> RunPipeline(const Graph& graph, const Target& target,
                                   const CompileOptions& options, const SpanSink& span) {
  STOKER_TRY(const std::unique_ptr<const Machine> machine, MachineOf(target));
  Laps laps(span);
  STOKER_TRY(LoweredGraph lowered, LowerGraph(graph, {target, *machine, options}, laps));
  MemoryPlan memory = PlanMemory(lowered.groups.program);
  for (const SymDim* bytes :
       {&memory.arena_bytes, &memory.prepared_bytes, &memory.prepare_arena_bytes}) {
    if (bytes->IsOverflow()) {
      return Unimplemented("The graph's sizes are too involved to say how much memory it takes.");
    }
  }
  laps.End("plan memory");
  return PipelineResult{std::move(lowered.graph), std::move(lowered.grouping),
                        std::move(lowered.groups.program), std::move(lowered.groups.kernels),
                        std::move(memory)};
}

}  // namespace stoker
