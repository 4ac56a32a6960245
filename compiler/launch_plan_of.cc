#include "compiler/launch_plan_of.h"

#include <algorithm>

#include "protocol/key/kernel_key.h"

namespace stoker {
namespace {

// Contractions and attention take several times as long to generate as loops: they are begun first.
std::int64_t CompileCost(const KernelFunc& func, std::size_t text_size) {
  const bool is_tiled =
      std::holds_alternative<ContractionFunc>(func) || std::holds_alternative<AttentionFunc>(func);
  return static_cast<std::int64_t>(text_size) + (is_tiled ? 1 << 20 : 0);
}

bool IsArena(BufferKind kind) {
  return kind == BufferKind::kArena || kind == BufferKind::kPrepared ||
         kind == BufferKind::kPrepareArena;
}

BufferRef RefTo(const PipelineResult& pipeline, StorageId id, const SymDim& skipped_elements) {
  const Storage& storage = pipeline.program.storages[id];
  const SymDim skipped = skipped_elements * SizeInBytes(storage.dtype);
  BufferRef ref;
  ref.kind = storage.kind;
  ref.index = storage.index;
  if (IsArena(storage.kind)) ref.offset = pipeline.memory.offsets[id] + skipped;
  ref.size = storage.bytes - skipped;
  return ref;
}

Launch LaunchOf(const PipelineResult& pipeline, std::size_t index) {
  const Step& step = pipeline.program.steps[index];
  const std::uint32_t kernel = pipeline.kernels.kernel_of[index];
  const LaunchShape shape = pipeline.kernels.kernels[kernel].launch();
  Launch launch;
  launch.kernel = kernel;
  launch.tasks = shape.tasks.Substitute(step.symbols);
  launch.min_tasks_per_chunk = shape.min_tasks_per_chunk;
  launch.min_tasks_per_call = shape.min_tasks_per_call;
  launch.scratch_bytes = shape.scratch_bytes;
  for (const SymDim& dim : shape.dims) launch.dims.push_back(dim.Substitute(step.symbols));
  for (std::size_t k = 0; k < step.buffers.size(); ++k) {
    const SymDim skipped = step.offsets.empty() ? SymDim() : step.offsets[k];
    launch.buffers.push_back(RefTo(pipeline, step.buffers[k], skipped));
  }
  launch.label = step.label;
  launch.flops = step.flops;
  launch.bytes = step.bytes;
  return launch;
}

HostCall HostCallOf(const PipelineResult& pipeline, const Step& step) {
  const auto& op = std::get<HostOp>(step.work);
  HostCall call;
  call.target = op.target;
  std::size_t next = 0;
  const auto place = [&](const TensorType& type) {
    const std::size_t k = next++;
    const SymDim skipped = step.offsets.empty() ? SymDim() : step.offsets[k];
    BufferRef buffer = RefTo(pipeline, step.buffers[k], skipped);
    if (!IsArena(buffer.kind)) buffer.offset = skipped * SizeInBytes(type.dtype);
    buffer.size = type.shape.NumElements() * SizeInBytes(type.dtype);
    return HostTensor{type, std::move(buffer)};
  };
  for (const TensorType& type : op.operands) call.operands.push_back(place(type));
  for (const TensorType& type : op.results) call.results.push_back(place(type));
  return call;
}

LibraryCall LibraryCallOf(const PipelineResult& pipeline, const Step& step) {
  const auto& op = std::get<LibraryOp>(step.work);
  const LibraryMatmul& from = op.matmul;
  const auto place = [&](std::uint32_t buffer) {
    return RefTo(pipeline, step.buffers[buffer], SymDim());
  };
  const auto matrix = [&](const LibraryMatmul::Matrix& m) {
    return Matmul::Matrix{place(m.place), m.offset, m.leading, m.batch_stride};
  };
  LibraryCall call;
  call.library = op.library;
  Matmul& to = call.matmul;
  to.batch = from.batch;
  to.m = from.m;
  to.n = from.n;
  to.k = from.k;
  to.factor = from.factor;
  to.result = from.result;
  to.compute = from.compute;
  to.activation = from.activation;
  to.a = matrix(from.a);
  to.b = matrix(from.b);
  to.d = matrix(from.d);
  to.a_by_columns = from.a_by_columns;
  to.b_by_columns = from.b_by_columns;
  to.alpha = from.alpha;
  to.beta = from.beta;
  if (from.c) to.c = matrix(*from.c);
  if (from.bias) to.bias = {place(from.bias->place), from.bias->offset};
  to.workspace = place(from.workspace);
  call.label = step.label;
  call.flops = step.flops;
  call.bytes = step.bytes;
  return call;
}

// Outer loops first: what lies in a loop stands behind it.
std::vector<PlanLoop> LoopsOf(const PipelineResult& pipeline,
                              const std::vector<std::size_t>& place_of) {
  std::vector<PlanLoop> loops;
  for (const ProgramLoop& loop : pipeline.program.loops) {
    const auto place = [&](std::size_t step) { return static_cast<std::uint32_t>(place_of[step]); };
    const PlanLoop made{place(loop.begin), place(loop.test), place(loop.end),
                        RefTo(pipeline, loop.condition, SymDim())};
    // Of the program's, a later one lies around an earlier one, or behind it.
    const auto behind = std::ranges::find_if(
        loops, [&](const PlanLoop& earlier) { return earlier.begin >= made.begin; });
    loops.insert(behind, made);
  }
  return loops;
}

PlanStep CallOf(const PipelineResult& pipeline, const Step& step) {
  if (std::holds_alternative<LibraryOp>(step.work)) return LibraryCallOf(pipeline, step);
  return HostCallOf(pipeline, step);
}

}  // namespace

PlannedLaunches PlanLaunches(const PipelineResult& pipeline, const Target& target,
                             std::string_view toolchain) {
  PlannedLaunches planned;
  LaunchPlan& plan = planned.plan;
  for (const GraphInput& input : pipeline.graph.inputs()) {
    plan.inputs.push_back(pipeline.graph.type(input.value));
    plan.input_roles.push_back(input.role);
  }
  plan.outputs = pipeline.program.outputs;
  plan.arena_bytes = pipeline.memory.arena_bytes;
  plan.arena_zero_bytes = pipeline.memory.arena_zero_bytes;
  plan.prepared_bytes = pipeline.memory.prepared_bytes;
  plan.prepare_arena_bytes = pipeline.memory.prepare_arena_bytes;

  const ScheduledProgram& scheduled = pipeline.kernels;
  std::vector<std::size_t> place_of;  // Of each of the program's steps among the plan's.
  for (std::size_t i = 0; i < pipeline.program.steps.size(); ++i) {
    const Step& step = pipeline.program.steps[i];
    place_of.push_back(plan.steps.size());
    if (scheduled.kernel_of[i] == kNoKernel) {
      plan.steps.push_back(CallOf(pipeline, step));
      continue;
    }
    const ScheduledKernel& kernel = scheduled.kernels[scheduled.kernel_of[i]];
    if (scheduled.kernel_of[i] == planned.kernels.size()) {
      const std::string text = ToString(kernel);
      planned.kernels.push_back(
          {KernelKeyOf(text, target, toolchain), i, CompileCost(kernel.func, text.size())});
    }
    if (step.prepared) {
      plan.prepare.push_back(LaunchOf(pipeline, i));
    } else {
      plan.steps.push_back(LaunchOf(pipeline, i));
    }
  }
  place_of.push_back(plan.steps.size());
  plan.loops = LoopsOf(pipeline, place_of);
  return planned;
}

}  // namespace stoker
