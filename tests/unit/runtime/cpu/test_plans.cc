#include "tests/unit/runtime/cpu/test_plans.h"

#include <fstream>
#include <iterator>
#include <utility>

namespace stoker::cpu {

std::string KernelBytes(std::string_view name) {
  const std::string path = std::string(STOKER_TEST_KERNELS "/") + std::string(name) + ".so";
  std::ifstream file(path, std::ios::binary);
  STOKER_CHECK(file.good());
  return {std::istreambuf_iterator<char>(file), {}};
}

BufferRef In(std::uint32_t index, SymDim size) {
  return {BufferKind::kInput, index, {}, std::move(size)};
}
BufferRef Out(std::uint32_t index, SymDim size) {
  return {BufferKind::kOutput, index, {}, std::move(size)};
}
BufferRef Arena(SymDim offset, SymDim size) {
  return {BufferKind::kArena, 0, std::move(offset), std::move(size)};
}
BufferRef PreparedAt(SymDim offset, SymDim size) {
  return {BufferKind::kPrepared, 0, std::move(offset), std::move(size)};
}
BufferRef ConstantAt(std::uint32_t index, SymDim size) {
  return {BufferKind::kConstant, index, {}, std::move(size)};
}

PlanBuilder::PlanBuilder() {
  artifact.request_key = Sha256Of("request");
  artifact.graph_name = "test";
  artifact.target = Target::Parse("cpu/x86-64-v3").value();
  artifact.compiler_epoch = "test";
}

void PlanBuilder::Input(TensorType type, InputRole role) {
  artifact.plan.inputs.push_back(std::move(type));
  artifact.plan.input_roles.push_back(role);
}

void PlanBuilder::Output(TensorType type) {
  artifact.plan.outputs.push_back(OutputSpec{std::move(type), -1});
}

std::uint32_t PlanBuilder::Constant(std::string bytes) {
  const Digest digest = Sha256Of(bytes);
  artifact.constants.push_back(ConstantRef{digest, bytes.size()});
  blobs[digest] = std::move(bytes);
  return static_cast<std::uint32_t>(artifact.constants.size() - 1);
}

std::uint32_t PlanBuilder::Kernel(std::string_view name) {
  std::string bytes = KernelBytes(name);
  const Digest digest = Sha256Of(bytes);
  artifact.kernels.push_back(KernelRef{Sha256Of(name), digest, bytes.size()});
  blobs[digest] = std::move(bytes);
  return static_cast<std::uint32_t>(artifact.kernels.size() - 1);
}

Launch PlanBuilder::Launch(std::uint32_t kernel, SymDim tasks, std::vector<BufferRef> buffers,
                           std::vector<SymDim> dims) {
  stoker::Launch launch;
  launch.kernel = kernel;
  launch.tasks = std::move(tasks);
  launch.buffers = std::move(buffers);
  launch.dims = std::move(dims);
  launch.label = "test launch";
  return launch;
}

BlobSource PlanBuilder::Source() const {
  return [copies = blobs](const Digest& digest) -> Result<std::string> {
    const auto found = copies.find(digest);
    if (found == copies.end()) return NotFound("no such blob");
    return found->second;
  };
}

PlanBuilder AddDoubledWeight(std::int64_t n) {
  PlanBuilder builder;
  const TensorType type{DType::kF32, Shape{SymDim(n)}};
  builder.Input(type);
  builder.Input(type, InputRole::kParameter);
  builder.Output(type);
  const std::uint32_t twice = builder.Kernel("double");
  const std::uint32_t add = builder.Kernel("add");
  LaunchPlan& plan = builder.artifact.plan;
  plan.prepared_bytes = 4 * n;
  plan.prepare = {PlanBuilder::Launch(twice, n, {In(1, 4 * n), PreparedAt(0, 4 * n)})};
  stoker::Launch launch =
      PlanBuilder::Launch(add, n, {In(0, 4 * n), PreparedAt(0, 4 * n), Out(0, 4 * n)}, {n});
  launch.flops = n;
  launch.bytes = 12 * n;
  plan.steps = {launch};
  return builder;
}

PlanBuilder Chain(int launches, std::int64_t n, std::int64_t min_tasks_per_chunk) {
  PlanBuilder builder;
  const TensorType type{DType::kF32, Shape{SymDim(n)}};
  builder.Input(type);
  builder.Output(type);
  const std::uint32_t add = builder.Kernel("add");
  LaunchPlan& plan = builder.artifact.plan;
  const std::int64_t stride = (4 * n + 63) / 64 * 64;
  plan.arena_bytes = 2 * stride;
  BufferRef source = In(0, 4 * n);
  for (int i = 0; i < launches; ++i) {
    const BufferRef target = i + 1 == launches ? Out(0, 4 * n) : Arena(i % 2 * stride, 4 * n);
    stoker::Launch launch = PlanBuilder::Launch(add, n, {source, In(0, 4 * n), target}, {n});
    launch.min_tasks_per_chunk = min_tasks_per_chunk;
    plan.steps.push_back(std::move(launch));
    source = target;
  }
  return builder;
}

}  // namespace stoker::cpu
