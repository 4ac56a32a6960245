#include "compiler/compile.h"

#include "compiler/codegen/codegen.h"
#include "compiler/compile_pipeline.h"
#include "compiler/pipeline.h"
#include "compiler/revision.h"

namespace stoker {

std::string CompilerEpoch() {
  return "stoker-" + std::string(CompilerRevision()) + ";" + CodegenVersion();
}

std::vector<std::string> CompilableTargetKinds() {
  std::vector<std::string> kinds = {"cpu"};
  if (HasAssembler(TargetKind::kCuda)) kinds.emplace_back("cuda");
  return kinds;
}

void LoadToolchain() { (void)CompilableTargetKinds(); }

std::string KernelToolchain(const Target& target) {
  return CompilerEpoch() + AssemblerVersion(target);
}

Result<CompileOutput> Compile(const CompileRequest& request, const CompileHooks& hooks) {
  if (hooks.progress) hooks.progress("schedule", 0, 1, request.graph.name());
  STOKER_TRY(const PipelineResult pipeline,
             RunPipeline(request.graph, request.target, request.options, hooks.span));
  return CompilePipeline(request, pipeline, hooks);
}

}  // namespace stoker
