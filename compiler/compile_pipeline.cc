#include "compiler/compile_pipeline.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <thread>

#include "compiler/codegen/codegen.h"
#include "compiler/guards.h"
#include "compiler/launch_plan_of.h"

namespace stoker {
namespace {

// Generates kernels on several threads. The result does not depend on their number.
class KernelCompiler {
 public:
  KernelCompiler(const PipelineResult& pipeline, const std::vector<UniqueKernel>& kernels,
                 const Target& target, const CompileHooks& hooks)
      : pipeline_(pipeline), kernels_(kernels), target_(target), hooks_(hooks) {}

  // `wanted`: indices into the kernels.
  Result<std::vector<CompiledKernel>> Run(std::vector<std::size_t> wanted) {
    wanted_ = std::move(wanted);
    compiled_.resize(wanted_.size());
    errors_.resize(wanted_.size());
    // The longest first, so that no thread is left with one at the end.
    order_.resize(wanted_.size());
    std::iota(order_.begin(), order_.end(), 0);
    std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      const std::int64_t x = kernels_[wanted_[a]].cost;
      const std::int64_t y = kernels_[wanted_[b]].cost;
      return x != y ? x > y : a < b;
    });
    const auto limit = std::max<std::size_t>(1, wanted_.size());
    const std::size_t threads =
        std::min(limit, static_cast<std::size_t>(std::max(1, hooks_.threads)));
    std::vector<std::thread> helpers;
    for (std::size_t i = 1; i < threads; ++i) helpers.emplace_back([this, i] { Work(i); });
    Work(0);
    for (std::thread& helper : helpers) helper.join();
    for (std::optional<Error>& error : errors_) {
      if (error) return *std::move(error);
    }
    return std::move(compiled_);
  }

 private:
  void Work(std::size_t thread) {
    KernelGenerator generator(target_);
    for (;;) {
      const std::size_t next = next_.fetch_add(1);
      if (next >= order_.size() || failed_.load()) return;
      const std::size_t i = order_[next];
      const UniqueKernel& kernel = kernels_[wanted_[i]];
      const Step& step = pipeline_.program.steps[kernel.step];
      Laps laps(hooks_.span, static_cast<int>(thread), step.label);
      Result<KernelCode> code = generator.Generate(pipeline_.kernels.kernels[wanted_[i]], &laps);
      laps.EndAll("kernel");
      if (!code.ok()) {
        errors_[i] = code.error().WithContext(step.label);
        failed_.store(true);
        return;
      }
      compiled_[i] = {kernel.key, std::move(code->elf)};
      if (!hooks_.progress) continue;
      const std::lock_guard lock(progress_mutex_);
      const auto all = static_cast<int>(order_.size());
      hooks_.progress("kernels", ++done_, all, step.label);
      if (code->thread && code->thread->local_bytes > 0) {
        hooks_.progress("warning: registers spill", done_, all,
                        step.label + ": " + ToString(*code->thread));
      }
    }
  }

  const PipelineResult& pipeline_;
  const std::vector<UniqueKernel>& kernels_;
  const Target& target_;
  const CompileHooks& hooks_;
  std::vector<std::size_t> wanted_;
  std::vector<std::size_t> order_;
  std::vector<CompiledKernel> compiled_;
  std::vector<std::optional<Error>> errors_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex progress_mutex_;
  int done_ = 0;
};

}  // namespace

Result<CompileOutput> CompilePipeline(const CompileRequest& request, const PipelineResult& pipeline,
                                      const CompileHooks& hooks) {
  Laps laps(hooks.span);
  PlannedLaunches planned = PlanLaunches(pipeline, request.target, KernelToolchain(request.target));

  CompileOutput output;
  Artifact& artifact = output.artifact;
  artifact.request_key = KeyOf(request).digest;
  artifact.graph_name = request.graph.name();
  artifact.target = request.target;
  artifact.compiler_epoch = CompilerEpoch();
  STOKER_TRY(artifact.guards, GuardsOf(request.graph));
  artifact.plan = std::move(planned.plan);
  laps.End("plan launches");

  std::vector<Digest> keys;
  for (const UniqueKernel& kernel : planned.kernels) keys.push_back(kernel.key);
  std::vector<std::optional<KernelRef>> found(keys.size());
  if (hooks.find_kernels) {
    found = hooks.find_kernels(keys);
    found.resize(keys.size());
    laps.End("find kernels");
  }
  std::vector<std::size_t> wanted;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!found[i]) wanted.push_back(i);
  }
  STOKER_TRY(output.kernels,
             KernelCompiler(pipeline, planned.kernels, request.target, hooks).Run(wanted));
  laps.End("compile kernels");
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const CompiledKernel& kernel = output.kernels[i];
    found[wanted[i]] = KernelRef{kernel.key, Sha256Of(kernel.elf), kernel.elf.size()};
  }
  for (const std::optional<KernelRef>& kernel : found) artifact.kernels.push_back(*kernel);
  for (const std::string& constant : pipeline.program.constants) {
    artifact.constants.push_back({Sha256Of(constant), constant.size()});
    output.constants.push_back(constant);
  }
  laps.End("hash");
  return output;
}

}  // namespace stoker
