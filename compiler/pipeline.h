// Pipeline: Graph -> Program, everything of a compile but code generation.
#pragma once

#include <memory>

#include "compiler/schedule/group.h"
#include "compiler/schedule/memory_plan.h"
#include "compiler/schedule/program.h"
#include "compiler/scheduled_program.h"
#include "compiler/timing/laps.h"
#include "protocol/graph/graph.h"
#include "protocol/key/compile_options.h"
#include "protocol/key/target.h"

namespace stoker {

struct PipelineResult {
  Graph graph;        // After the graph passes.
  Grouping grouping;  // Of its nodes.
  Program program;
  ScheduledProgram kernels;
  MemoryPlan memory;
};

Result<PipelineResult> RunPipeline(const Graph& graph, const Target& target,
                                   const CompileOptions& options, const SpanSink& span = {});

}  // namespace stoker
