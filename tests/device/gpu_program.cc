#include "tests/device/gpu_program.h"

#include <random>
#include <utility>

#include "compiler/compile.h"
#include "compiler/launch_plan_of.h"
#include "protocol/artifact/sized_plan.h"

namespace stoker::device_test {
namespace {

// What kernels may read past the end of an operand, and more than any skew.
constexpr std::int64_t kSlack = 256;

}  // namespace

std::string OneLine(const CudaSchedule& schedule) {
  std::string text = ToString(schedule);
  const std::size_t end = text.find("}");
  text = text.substr(0, end);
  const std::size_t begin = text.find('{');
  std::string line;
  for (const char c : text.substr(begin + 2)) {
    if (c == '\n') {
      line += "; ";
    } else if (!(c == ' ' && (line.empty() || line.back() == ' '))) {
      line += c;
    }
  }
  return line;
}

Result<std::unique_ptr<GpuProgram>> GpuProgram::Make(const Graph& graph, cuda::Device& device,
                                                     const AssembleFn& assemble,
                                                     const SymBindings& symbols) {
  STOKER_TRY(PipelineResult pipeline, RunPipeline(graph, device.target(), {}));
  return MakeOf(std::move(pipeline), device, assemble, symbols);
}

Result<std::unique_ptr<GpuProgram>> GpuProgram::MakeOf(PipelineResult pipeline,
                                                       cuda::Device& device,
                                                       const AssembleFn& assemble,
                                                       const SymBindings& symbols) {
  std::unique_ptr<GpuProgram> program(new GpuProgram(std::move(pipeline), device, symbols));
  STOKER_RETURN_IF_ERROR(program->Load(assemble));
  return program;
}

Result<GpuProgram::Tensor> GpuProgram::TensorOf(const TensorType& type) const {
  Tensor tensor;
  tensor.dtype = type.dtype;
  tensor.bytes = SizeInBytes(type.dtype);
  for (const SymDim& dim : type.shape) {
    STOKER_TRY(const std::int64_t size, dim.Evaluate(symbols_));
    tensor.shape.push_back(size);
    tensor.bytes *= size;
  }
  return tensor;
}

// Whatever has no symbols is decoded, as a client does it.
Result<Artifact> GpuProgram::MakeArtifact(const AssembleFn& assemble) {
  Artifact artifact;
  artifact.target = device_.target();
  PlannedLaunches planned = PlanLaunches(pipeline_, artifact.target, CompilerEpoch());
  for (std::size_t i = 0; i < planned.kernels.size(); ++i) {
    STOKER_TRY(const std::string cubin, assemble(pipeline_.kernels.kernels[i], artifact.target));
    const Digest blob = Sha256Of(cubin);
    STOKER_TRY(auto loaded, device_.LoadKernel(blob, cubin));
    kernels_.push_back(std::move(loaded));
    artifact.kernels.push_back({planned.kernels[i].key, blob, cubin.size()});
  }
  for (const std::string& constant : pipeline_.program.constants) {
    artifact.constants.push_back({Sha256Of(constant), constant.size()});
  }
  plan_ = planned.plan;
  artifact.plan = std::move(planned.plan);
  if (!symbols_.empty()) return artifact;
  return DecodeArtifact(EncodeArtifact(artifact));
}

Status GpuProgram::Load(const AssembleFn& assemble) {
  STOKER_TRY(const Artifact artifact, MakeArtifact(assemble));
  for (const GraphInput& input : pipeline_.graph.inputs()) {
    STOKER_TRY(Tensor tensor, TensorOf(pipeline_.graph.type(input.value)));
    inputs_.push_back(std::move(tensor));
  }
  for (const OutputSpec& output : pipeline_.program.outputs) {
    STOKER_TRY(Tensor tensor, TensorOf(output.type));
    outputs_.push_back(std::move(tensor));
  }
  for (const std::string& constant : pipeline_.program.constants) {
    STOKER_TRY(DeviceMemory memory, device_.AllocateWith(constant));
    constants_.push_back(std::move(memory));
  }
  STOKER_TRY(const SizedPrepare prepare, SizePrepare(artifact));
  STOKER_TRY(const SizedPlan plan, SizePlan(artifact, symbols_));
  STOKER_TRY(prepared_, device_.Allocate(prepare.prepared_bytes + kSlack));
  const AddressLayout layout(inputs_.size(), outputs_.size(), constants_.size());
  const std::vector<SizedWork> once(prepare.launches.begin(), prepare.launches.end());
  STOKER_TRY(prepare_,
             device_.Ready(once, {},
                           {BufferKind::kPrepareArena, prepare.prepare_arena_bytes + kSlack, 0, 0},
                           layout, kernels_));
  const ArenaUse arena{BufferKind::kArena, plan.arena_bytes + kSlack, plan.arena_zero_bytes, 1};
  STOKER_TRY(launches_, device_.Ready(plan.launches, {}, arena, layout, kernels_));
  for (const SizedWork& launch : plan.launches) {
    STOKER_TRY(auto alone, device_.Ready({&launch, 1}, {}, arena, layout, kernels_));
    one_by_one_.push_back(std::move(alone));
  }
  addresses_.resize(layout.size());
  addresses_[layout.IndexOf(BufferKind::kPrepared)] = prepared_.data();
  for (std::uint32_t i = 0; i < constants_.size(); ++i) {
    addresses_[layout.IndexOf(BufferKind::kConstant, i)] = constants_[i].data();
  }
  return Ok();
}

Status GpuProgram::Place(cuda::Queue& queue, int skew) {
  const AddressLayout layout(inputs_.size(), outputs_.size(), constants_.size());
  const auto place = [&](Tensor& tensor) -> Status {
    STOKER_TRY(tensor.memory, device_.Allocate(tensor.bytes + kSlack));
    // An element lies at a multiple of its size.
    const int size = SizeInBytes(tensor.dtype);
    tensor.at = tensor.memory.data() + (skew + size - 1) / size * size;
    return queue.Fill(tensor.memory.data(), 0x5a, static_cast<std::size_t>(tensor.bytes + kSlack));
  };
  for (std::uint32_t i = 0; i < inputs_.size(); ++i) {
    STOKER_RETURN_IF_ERROR(place(inputs_[i]));
    addresses_[layout.IndexOf(BufferKind::kInput, i)] = inputs_[i].at;
  }
  for (std::uint32_t i = 0; i < outputs_.size(); ++i) {
    const std::int32_t updated = pipeline_.program.outputs[i].updates_input;
    if (updated < 0) STOKER_RETURN_IF_ERROR(place(outputs_[i]));
    addresses_[layout.IndexOf(BufferKind::kOutput, i)] =
        updated < 0 ? outputs_[i].at : inputs_[static_cast<std::size_t>(updated)].at;
  }
  return Ok();
}

Status GpuProgram::SetInputs(const std::vector<InterpreterTensor>& inputs, cuda::Queue& queue) {
  std::vector<std::string> bytes(inputs.size());  // They stay where they are until they are copied.
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    bytes[i] = inputs[i].ToBytes();
    STOKER_RETURN_IF_ERROR(queue.CopyIn(inputs_[i].at, bytes[i].data(), bytes[i].size()));
  }
  return queue.Wait();
}

Status GpuProgram::SetNoise(cuda::Queue& queue, std::uint64_t seed) {
  constexpr std::int64_t kBlock = 1 << 20;
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  for (Tensor& tensor : inputs_) {
    const std::int64_t elements =
        std::min<std::int64_t>(kBlock, tensor.bytes / SizeInBytes(tensor.dtype));
    InterpreterTensor block = InterpreterTensor::Zeros(tensor.dtype, {elements});
    std::visit(
        [&](auto& values) {
          for (auto& x : values) x = static_cast<std::decay_t<decltype(x)>>(normal(random));
        },
        block.elements);
    const std::string bytes = block.ToBytes();
    for (std::int64_t at = 0; at < tensor.bytes; at += static_cast<std::int64_t>(bytes.size())) {
      const auto size = static_cast<std::size_t>(
          std::min<std::int64_t>(static_cast<std::int64_t>(bytes.size()), tensor.bytes - at));
      STOKER_RETURN_IF_ERROR(queue.CopyIn(tensor.at + at, bytes.data(), size));
    }
    STOKER_RETURN_IF_ERROR(queue.Wait());
  }
  return Ok();
}

Status GpuProgram::Run(cuda::Queue& queue) {
  STOKER_RETURN_IF_ERROR(queue.Run(*prepare_, addresses_, nullptr, nullptr));
  return queue.Run(*launches_, addresses_, nullptr, nullptr);
}

Status GpuProgram::RunOneByOne(cuda::Queue& queue) {
  for (const auto& launch : one_by_one_) {
    STOKER_RETURN_IF_ERROR(queue.Run(*launch, addresses_, nullptr, nullptr));
  }
  return Ok();
}

Result<std::vector<LaunchTime>> GpuProgram::Profile(cuda::Queue& queue) {
  std::vector<double> seconds;
  STOKER_RETURN_IF_ERROR(queue.Run(*launches_, addresses_, nullptr, &seconds));
  std::vector<LaunchTime> times;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    if (const auto* call = std::get_if<LibraryCall>(&plan_.steps[i])) {
      times.push_back({call->label, "cublasLt", seconds[i]});
      continue;
    }
    const auto& launch = std::get<Launch>(plan_.steps[i]);
    const ScheduledKernel& kernel = pipeline_.kernels.kernels[launch.kernel];
    times.push_back({launch.label, OneLine(std::get<CudaSchedule>(kernel.schedule)), seconds[i]});
  }
  return times;
}

Result<std::vector<InterpreterTensor>> GpuProgram::Outputs(cuda::Queue& queue) const {
  std::vector<InterpreterTensor> outputs;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const OutputSpec& output = pipeline_.program.outputs[i];
    const std::int32_t input = std::max(output.same_as_input, output.updates_input);
    STOKER_TRY(
        InterpreterTensor found,
        Contents(input >= 0 ? inputs_[static_cast<std::size_t>(input)] : outputs_[i], queue));
    outputs.push_back(std::move(found));
  }
  return outputs;
}

Result<std::vector<InterpreterTensor>> GpuProgram::Inputs(cuda::Queue& queue) const {
  std::vector<InterpreterTensor> inputs;
  for (const Tensor& tensor : inputs_) {
    STOKER_TRY(InterpreterTensor found, Contents(tensor, queue));
    inputs.push_back(std::move(found));
  }
  return inputs;
}

Result<InterpreterTensor> GpuProgram::Contents(const Tensor& tensor, cuda::Queue& queue) {
  std::string bytes(static_cast<std::size_t>(tensor.bytes), '\0');
  STOKER_RETURN_IF_ERROR(queue.CopyOut(bytes.data(), tensor.at, bytes.size()));
  STOKER_RETURN_IF_ERROR(queue.Wait());
  return InterpreterTensor::FromBytes(tensor.dtype, tensor.shape, bytes);
}

std::string GpuProgram::Schedules() const {
  std::string text;
  for (const PlanStep& step : plan_.steps) {
    const auto* call = std::get_if<LibraryCall>(&step);
    if (call != nullptr) text += (text.empty() ? "" : " | ") + call->label;
  }
  for (const ScheduledKernel& kernel : pipeline_.kernels.kernels) {
    text += (text.empty() ? "" : " | ") + OneLine(std::get<CudaSchedule>(kernel.schedule));
  }
  return text;
}

std::int64_t GpuProgram::bytes() const {
  std::int64_t bytes = 0;
  for (const Tensor& tensor : inputs_) bytes += tensor.bytes;
  for (const Tensor& tensor : outputs_) bytes += tensor.bytes;
  return bytes;
}

}  // namespace stoker::device_test
