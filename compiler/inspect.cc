// Inspect: the stages of a compile as text.
#include <algorithm>
#include <cstdio>
#include <map>

#include "compiler/codegen/codegen.h"
#include "compiler/compile.h"
#include "compiler/launch_plan_of.h"
#include "compiler/pipeline.h"

namespace stoker {
namespace {

// One core of the class of machine that the share of a roofline is stated for.
constexpr double kPeakGflops = 250;
constexpr double kMemoryGbytes = 20;

std::string NodeText(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  std::string text;
  for (const ValueId result : node.results) {
    text += (text.empty() ? "%" : ", %") + std::to_string(result);
  }
  text += " = " + std::string(Name(node.kind));
  return text + " : " + graph.type(node.results[0]).ToString();
}

const char* KindText(GroupKind kind) {
  switch (kind) {
    case GroupKind::kLoop:
      return "loop";
    case GroupKind::kContraction:
      return "contraction";
    case GroupKind::kAttention:
      return "attention";
    case GroupKind::kOrdered:
      return "ordered";
  }
  return "";
}

std::string GroupsText(const PipelineResult& pipeline) {
  const Graph& graph = pipeline.graph;
  std::string text;
  for (std::size_t i = 0; i < pipeline.grouping.groups.size(); ++i) {
    const Group& group = pipeline.grouping.groups[i];
    text += "group " + std::to_string(i) + " " + KindText(group.kind) +
            (group.prepared ? " prepared" : "") + "\n";
    for (const NodeId node : group.nodes) {
      text += "  " + NodeText(graph, node) + (node == group.hero ? "  # first\n" : "\n");
    }
  }
  text += "decisions\n";
  for (const FusionDecision& decision : pipeline.grouping.decisions) {
    text += std::string("  ") + (decision.joined ? "joined  " : "refused ") +
            NodeText(graph, decision.node) + "  with %" +
            std::to_string(graph.node(decision.neighbour).results[0]) + ": " + decision.why + "\n";
  }
  return text;
}

std::string BufferText(const BufferRef& buffer) {
  const auto indexed = [&](const char* name) { return name + std::to_string(buffer.index); };
  const auto placed = [&](const char* name) {
    return std::string(name) + "+" + buffer.offset.ToString();
  };
  std::string text;
  switch (buffer.kind) {
    case BufferKind::kInput:
      text = indexed("input");
      break;
    case BufferKind::kOutput:
      text = indexed("output");
      break;
    case BufferKind::kConstant:
      text = indexed("constant");
      break;
    case BufferKind::kArena:
      text = placed("arena");
      break;
    case BufferKind::kPrepared:
      text = placed("prepared");
      break;
    case BufferKind::kPrepareArena:
      text = placed("prepare_arena");
      break;
  }
  return text + "[" + buffer.size.ToString() + "]";
}

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

std::string LaunchesText(const std::vector<Launch>& launches) {
  std::string text;
  for (const Launch& launch : launches) {
    text += "  kernel " + std::to_string(launch.kernel) + "  " + launch.label + "  tasks " +
            launch.tasks.ToString() + "  scratch " + std::to_string(launch.scratch_bytes) +
            "  flops " + launch.flops.ToString() + "  bytes " + launch.bytes.ToString() +
            RooflineText(launch) + "\n   ";
    for (const BufferRef& buffer : launch.buffers) text += " " + BufferText(buffer);
    text += "\n";
  }
  return text;
}

std::string PlanText(const LaunchPlan& plan) {
  return "arena " + plan.arena_bytes.ToString() + " bytes, prepared " +
         plan.prepared_bytes.ToString() + ", while preparing " +
         plan.prepare_arena_bytes.ToString() + "\nprepare\n" + LaunchesText(plan.prepare) +
         "launches\n" + LaunchesText(plan.launches);
}

}  // namespace

Result<std::vector<Listing>> Inspect(const CompileRequest& request,
                                     std::span<const std::string> sections) {
  STOKER_TRY(const PipelineResult pipeline, RunPipeline(request.graph, request.target));
  PlannedLaunches planned;
  const auto needs_plan = [](const std::string& section) {
    return section != "graph" && section != "groups";
  };
  if (std::any_of(sections.begin(), sections.end(), needs_plan)) {
    STOKER_TRY(planned, PlanLaunches(pipeline, request.target, CompilerEpoch()));
  }
  std::vector<Listing> listings;
  for (const std::string& section : sections) {
    std::string text;
    if (section == "graph") {
      text = PrintGraph(pipeline.graph);
    } else if (section == "groups") {
      text = GroupsText(pipeline);
    } else if (section == "plan") {
      text = PlanText(planned.plan);
    } else if (section == "loops" || section == "llvm" || section == "asm") {
      for (std::size_t i = 0; i < planned.kernels.size(); ++i) {
        const Step& step = pipeline.program.steps[planned.kernels[i].step];
        text += "# kernel " + std::to_string(i) + " " + planned.kernels[i].key.ToHex() + ": " +
                step.label + "\n";
        if (section == "loops") {
          text += ToString(step.func);
          continue;
        }
        STOKER_TRY(const KernelListing listing, ListKernel(step.func, request.target));
        text += section == "llvm" ? listing.llvm_ir : listing.assembly;
      }
    } else {
      return InvalidArgument("There is no section '" + section +
                             "'; there are graph, groups, loops, plan, llvm, asm.");
    }
    listings.push_back({section, std::move(text)});
  }
  return listings;
}

}  // namespace stoker
