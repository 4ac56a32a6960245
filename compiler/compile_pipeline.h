// CompilePipeline: what follows the pipeline: launches, machine code, the artifact.
#pragma once

#include "compiler/compile.h"
#include "compiler/pipeline.h"

namespace stoker {

// `pipeline`: RunPipeline's of the request. Its kernels may have other schedules than the default
// ones, of Candidates.
Result<CompileOutput> CompilePipeline(const CompileRequest& request, const PipelineResult& pipeline,
                                      const CompileHooks& hooks);

}  // namespace stoker
