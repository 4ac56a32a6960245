#include "client/core/execution/loaded_executable.h"

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <iterator>

#include "client/core/execution/host_calls.h"
#include "client/core/execution/verification.h"
#include "protocol/artifact/kernel_abi.h"
#include "protocol/graph/interpret/interpreter.h"
#include "runtime/plan_uses.h"

namespace stoker {
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

std::int64_t Product(const std::vector<std::int64_t>& sizes) {
  std::int64_t product = 1;
  for (std::int64_t size : sizes) product *= size;
  return product;
}

json::array TypesOf(const std::vector<HostTensor>& tensors) {
  json::array types;
  for (const HostTensor& tensor : tensors) types.push_back(json::value(tensor.type.ToString()));
  return types;
}

// What lies at `data` of the queue's device once that has come so far, which is waited for.
Result<InterpreterTensor> TensorOf(const TensorType& type, const std::vector<std::int64_t>& sizes,
                                   const void* data, Queue& queue) {
  std::string bytes(static_cast<std::size_t>(Product(sizes) * SizeInBytes(type.dtype)), '\0');
  STOKER_RETURN_IF_ERROR(
      queue.CopyOut(bytes.data(), static_cast<const std::byte*>(data), bytes.size()));
  STOKER_RETURN_IF_ERROR(queue.Wait());
  return InterpreterTensor::FromBytes(type.dtype, sizes, bytes);
}

}  // namespace

Result<std::unique_ptr<LoadedExecutable>> LoadedExecutable::Load(
    JobDevice& device, Obtained obtained, std::optional<Graph> verified_against,
    std::shared_ptr<PreparedStore> prepared) {
  const Clock::time_point start = Clock::now();
  std::unique_ptr<LoadedExecutable> loaded(new LoadedExecutable(device));
  const ArtifactBundle& bundle = *obtained.bundle;
  STOKER_TRY(loaded->executable_,
             Executable::Load(
                 device.device(), bundle.artifact_bytes, obtained.request_key,
                 [&bundle](const Digest& blob) -> Result<std::string> {
                   const auto it = bundle.blobs.find(blob);
                   if (it != bundle.blobs.end()) return *it->second;
                   return NotFound("Blob " + blob.ToHex() + " did not arrive.");
                 },
                 device.KeepsPrepared() ? std::move(prepared) : nullptr));
  const LaunchPlan& plan = loaded->executable_->plan();
  for (std::uint32_t i = 0; i < plan.inputs.size(); ++i) {
    if (plan.input_roles[i] == InputRole::kParameter) loaded->parameter_inputs_.push_back(i);
    loaded->is_static_ &= plan.inputs[i].shape.IsStatic();
  }
  if (loaded->parameter_inputs_.empty()) {
    STOKER_RETURN_IF_ERROR(loaded->Bind({}, {}, nullptr));
  }
  if (verified_against) {
    loaded->verification_ = Verification::kPending;
    loaded->verified_against_ = std::make_shared<const Graph>(*std::move(verified_against));
  }
  loaded->obtained_ = std::move(obtained);
  loaded->load_seconds_ = std::chrono::duration<double>(Clock::now() - start).count();
  return loaded;
}

Result<LoadedExecutable::Geometry> LoadedExecutable::GeometryOf(
    std::span<const std::int64_t> symbols) const {
  SymBindings bindings;
  for (std::uint32_t i = 0; i < symbols.size(); ++i) bindings[i] = symbols[i];
  Geometry geometry;
  for (const TensorType& type : executable_->plan().inputs) {
    std::vector<std::int64_t> sizes;
    for (const SymDim& dim : type.shape) {
      STOKER_TRY(const std::int64_t size, dim.Evaluate(bindings));
      sizes.push_back(size);
    }
    std::vector<std::int64_t> strides(sizes.size());
    std::int64_t stride = 1;
    for (std::size_t d = sizes.size(); d-- > 0;) {
      strides[d] = stride;
      stride *= sizes[d];
    }
    geometry.sizes.push_back(std::move(sizes));
    geometry.strides.push_back(std::move(strides));
    geometry.bytes.push_back(stride * SizeInBytes(type.dtype));
  }
  return geometry;
}

Result<bool> LoadedExecutable::RecordHostCall(std::size_t call, const HostPlace& place,
                                              const std::function<Status(void* stream)>& give) {
  if (host_ == nullptr) {
    return FailedPrecondition("The executable has no host, whose calls could be recorded.");
  }
  auto recording = device_.device().Record(give);
  if (recording == nullptr) return false;
  host_->Keep(call, place, std::move(recording));
  return true;
}

Status LoadedExecutable::Bind(std::span<const void* const> data,
                              std::span<const std::int64_t> versions, void* stream) {
  if (data.size() != parameter_inputs_.size()) {
    return InvalidArgument(std::to_string(data.size()) + " parameters are given; the graph has " +
                           std::to_string(parameter_inputs_.size()) + ".");
  }
  std::vector<Parameter> parameters(data.size());
  for (std::size_t i = 0; i < data.size(); ++i) {
    parameters[i] = {data[i], static_cast<std::uint64_t>(versions[i])};
  }
  CallQueue queue(device_, stream);
  const std::lock_guard lock(binding_mutex_);
  rebinding_.clear();
  return executable_->BindParameters(parameters, *queue, &binding_);
}

void LoadedExecutable::Unbind() {
  const std::lock_guard lock(binding_mutex_);
  if (parameter_inputs_.empty()) return;
  binding_.reset();
  rebinding_.clear();
}

Result<std::shared_ptr<const Binding>> LoadedExecutable::CurrentBinding(Queue& queue) {
  const std::lock_guard lock(binding_mutex_);
  if (binding_ == nullptr && rebinding_.empty()) {
    return FailedPrecondition("The graph's " + std::to_string(parameter_inputs_.size()) +
                              " parameters are not bound.");
  }
  if (binding_ != nullptr) {
    if (const auto changed = binding_->prepared->Changed()) {
      repaired_parameter_ = executable_->prepared_parameters()[*changed];
      ++repairs_;
    }
    if (!binding_->prepared->IsStale()) return binding_;
    rebinding_ = binding_->parameters;
  }
  // Whoever comes meanwhile waits at the lock: for a while there is no binding.
  STOKER_RETURN_IF_ERROR(executable_->BindParameters(rebinding_, queue, &binding_));
  rebinding_.clear();
  return binding_;
}

std::int64_t LoadedExecutable::Frame::Bytes() const {
  // Sizes and strides of an input, its views.
  std::size_t bytes = inputs.size() * 256;
  if (plan != nullptr) {
    // A launch as it is sized and as it is run, with some ten operands and dims.
    bytes += plan->sizes.launches.size() * 2 * (sizeof(SizedWork) + 10 * sizeof(SizedBuffer));
  }
  return static_cast<std::int64_t>(bytes);
}

Result<std::unique_ptr<LoadedExecutable::Frame>> LoadedExecutable::TakeFrame(
    std::span<const std::int64_t> symbols) {
  {
    const std::lock_guard lock(frames_mutex_);
    const auto found =
        std::find_if(frames_.rbegin(), frames_.rend(), [&](const std::unique_ptr<Frame>& frame) {
          return std::ranges::equal(frame->symbols, symbols);
        });
    if (found != frames_.rend()) {
      std::unique_ptr<Frame> frame = std::move(*found);
      frames_.erase(std::next(found).base());
      frame_bytes_ -= frame->Bytes();
      return frame;
    }
  }
  auto frame = std::make_unique<Frame>();
  frame->symbols.assign(symbols.begin(), symbols.end());
  STOKER_TRY(frame->geometry, GeometryOf(symbols));
  frame->update_check = UpdateCheck(executable_->plan(), frame->geometry.bytes);
  const std::vector<TensorType>& types = executable_->plan().inputs;
  frame->inputs.resize(types.size());
  for (std::size_t i = 0; i < types.size(); ++i) {
    frame->views.push_back({types[i].dtype, frame->geometry.sizes[i], frame->geometry.strides[i]});
  }
  return frame;
}

void LoadedExecutable::ReturnFrame(std::unique_ptr<Frame> frame) {
  const std::lock_guard lock(frames_mutex_);
  frame_bytes_ += frame->Bytes();
  frames_.push_back(std::move(frame));
  while (frame_bytes_ > kMaxFrameBytes && frames_.size() > 1) {
    frame_bytes_ -= frames_.front()->Bytes();
    frames_.erase(frames_.begin());
  }
}

Result<std::unique_ptr<LoadedExecutable::Frame>> LoadedExecutable::Prepare(
    const Binding& binding, std::span<const void* const> inputs,
    std::span<const std::int64_t> symbols, std::span<void* const> outputs) {
  const LaunchPlan& plan = executable_->plan();
  if (inputs.size() != plan.inputs.size()) {
    return InvalidArgument(std::to_string(inputs.size()) + " inputs are given; the graph has " +
                           std::to_string(plan.inputs.size()) + ".");
  }
  if (outputs.size() != plan.outputs.size()) {
    return InvalidArgument(std::to_string(outputs.size()) + " outputs are given; the graph has " +
                           std::to_string(plan.outputs.size()) + ".");
  }
  if (is_static_) symbols = {};
  STOKER_TRY(std::unique_ptr<Frame> frame, TakeFrame(symbols));
  std::ranges::copy(inputs, frame->inputs.begin());
  for (std::size_t p = 0; p < parameter_inputs_.size(); ++p) {
    frame->inputs[parameter_inputs_[p]] = binding.parameters[p].data;
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (frame->inputs[i] == nullptr && Product(frame->geometry.sizes[i]) != 0) {
      return InvalidArgument("Input " + std::to_string(i) + " is NULL.");
    }
  }
  STOKER_RETURN_IF_ERROR(frame->update_check.Check(frame->inputs));
  if (frame->plan == nullptr) {
    // Guards look at what the symbols alone say, as the plan does: both are for these sizes.
    if (const auto why = executable_->guards().Explain(frame->views)) {
      return FailedPrecondition("A guard does not hold: " + *why);
    }
    STOKER_TRY(frame->plan, executable_->PlanFor(frame->views));
  }
  return frame;
}

Status LoadedExecutable::Run(std::span<const void* const> inputs,
                             std::span<const std::int64_t> symbols, std::span<void* const> outputs,
                             void* stream, MemoryTurns* turns) {
  CallQueue queue(device_, stream);
  STOKER_TRY(const auto binding, CurrentBinding(*queue));
  STOKER_TRY(std::unique_ptr<Frame> frame, Prepare(*binding, inputs, symbols, outputs));
  const bool verifies = Verifies();
  if (verifies && turns != nullptr) {
    return FailedPrecondition("A run that is verified reads its inputs when it has ended.");
  }
  KeptInputs kept;
  if (verifies) {
    STOKER_TRY(kept, KeepUpdated(*frame, *queue));
  }
  STOKER_RETURN_IF_ERROR(executable_->Run(*frame->plan, *binding, {frame->inputs, outputs, turns},
                                          *queue, host_.get()));
  STOKER_RETURN_IF_ERROR(CopyInputsThatAreOutputs(*frame, outputs, *queue));
  if (verifies) STOKER_RETURN_IF_ERROR(Verify(*frame, kept, outputs, *queue));
  ReturnFrame(std::move(frame));
  return Ok();
}

Status LoadedExecutable::CopyInputsThatAreOutputs(const Frame& frame,
                                                  std::span<void* const> outputs,
                                                  Queue& queue) const {
  const LaunchPlan& plan = executable_->plan();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (plan.outputs[i].same_as_input < 0 || outputs[i] == nullptr) continue;
    const auto source = static_cast<std::size_t>(plan.outputs[i].same_as_input);
    STOKER_RETURN_IF_ERROR(queue.Copy(static_cast<std::byte*>(outputs[i]),
                                      static_cast<const std::byte*>(frame.inputs[source]),
                                      static_cast<std::size_t>(frame.geometry.bytes[source])));
  }
  return Ok();
}

Result<LoadedExecutable::KeptInputs> LoadedExecutable::KeepUpdated(const Frame& frame,
                                                                   Queue& queue) const {
  KeptInputs kept(frame.inputs.size());
  for (const OutputSpec& output : executable_->plan().outputs) {
    if (output.updates_input < 0) continue;
    const auto input = static_cast<std::size_t>(output.updates_input);
    kept[input].resize(static_cast<std::size_t>(frame.geometry.bytes[input]));
    STOKER_RETURN_IF_ERROR(queue.CopyOut(kept[input].data(),
                                         static_cast<const std::byte*>(frame.inputs[input]),
                                         kept[input].size()));
  }
  STOKER_RETURN_IF_ERROR(queue.Wait());
  return kept;
}

Status LoadedExecutable::RestoreUpdated(const Frame& frame, const KeptInputs& kept,
                                        Queue& queue) const {
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (kept[i].empty()) continue;
    STOKER_RETURN_IF_ERROR(queue.CopyIn(static_cast<std::byte*>(const_cast<void*>(frame.inputs[i])),
                                        kept[i].data(), kept[i].size()));
  }
  return queue.Wait();
}

Status LoadedExecutable::Verify(const Frame& frame, const KeptInputs& kept,
                                std::span<void* const> outputs, Queue& queue) {
  const std::shared_ptr<const Graph> graph = [this] {
    const std::lock_guard lock(verify_mutex_);
    return verified_against_;
  }();
  if (graph == nullptr) return Ok();
  const Status status = CompareWithInterpreter(*graph, frame, kept, outputs, queue);
  if (!status.ok()) STOKER_RETURN_IF_ERROR(RestoreUpdated(frame, kept, queue));
  const std::lock_guard lock(verify_mutex_);
  if (!status.ok()) {
    verification_ = Verification::kRefused;
    return status.error().WithContext("Verification refuses artifact " +
                                      obtained_.request_key.ToHex());
  }
  verification_ = Verification::kVerified;
  verified_against_.reset();
  return Ok();
}

Status LoadedExecutable::CompareWithInterpreter(const Graph& graph, const Frame& frame,
                                                const KeptInputs& kept,
                                                std::span<void* const> outputs,
                                                Queue& queue) const {
  std::vector<InterpreterTensor> inputs;
  const LaunchPlan& plan = executable_->plan();
  for (std::size_t i = 0; i < frame.views.size(); ++i) {
    const auto sizes = frame.views[i].sizes;
    if (kept[i].empty()) {
      STOKER_TRY(inputs.emplace_back(),
                 TensorOf(plan.inputs[i], {sizes.begin(), sizes.end()}, frame.inputs[i], queue));
    } else {
      inputs.push_back(InterpreterTensor::FromBytes(plan.inputs[i].dtype,
                                                    {sizes.begin(), sizes.end()}, kept[i]));
    }
  }
  InterpretOptions options;
  if (host_ != nullptr) {
    options.extern_call = [&](const Node& node, auto operands, auto results) {
      return InterpretedHost{plan, *host_, device_.device(), queue}.Call(node, operands, results);
    };
  }
  STOKER_TRY(const std::vector<InterpreterTensor> expected, Interpret(graph, inputs, options));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::int32_t updated = plan.outputs[i].updates_input;
    const void* data = updated >= 0 ? frame.inputs[static_cast<std::size_t>(updated)] : outputs[i];
    if (data == nullptr) continue;  // The input itself.
    STOKER_TRY(const InterpreterTensor actual,
               TensorOf(plan.outputs[i].type, frame.plan->sizes.output_sizes[i], data, queue));
    STOKER_RETURN_IF_ERROR(VerifyOutput(i, actual, expected[i], obtained_.numerics));
  }
  return Ok();
}

bool LoadedExecutable::Verifies() const {
  const Verification verification = verification_.load();
  return verification == Verification::kPending || verification == Verification::kRefused;
}

std::string_view LoadedExecutable::VerificationText() const {
  switch (verification_.load()) {
    case Verification::kNone:
      return "";
    case Verification::kPending:
      return "pending";
    case Verification::kVerified:
      return "verified";
    case Verification::kRefused:
      return "refused";
  }
  return "";
}

Result<std::string> LoadedExecutable::ProfileJson(std::span<const void* const> inputs,
                                                  std::span<const std::int64_t> symbols,
                                                  std::span<void* const> outputs, void* stream) {
  CallQueue queue(device_, stream);
  STOKER_TRY(const auto binding, CurrentBinding(*queue));
  STOKER_TRY(std::unique_ptr<Frame> frame, Prepare(*binding, inputs, symbols, outputs));
  STOKER_TRY(
      const auto profile,
      executable_->Profile(*frame->plan, *binding, {frame->inputs, outputs}, *queue, host_.get()));
  STOKER_RETURN_IF_ERROR(CopyInputsThatAreOutputs(*frame, outputs, *queue));
  json::array steps;
  for (const StepProfile& step : profile) {
    const json::value kernel = step.kernel ? json::value(*step.kernel) : json::value(nullptr);
    steps.push_back({{"label", step.label},
                     {"kernel", kernel},
                     {"us", step.microseconds},
                     {"flops", step.flops},
                     {"bytes", step.bytes}});
  }
  ReturnFrame(std::move(frame));
  return json::serialize(steps);
}

std::string_view LoadedExecutable::PreparedFrom() const {
  const std::lock_guard lock(binding_mutex_);
  if (binding_ == nullptr || binding_->prepared->memory().size() <= kBufferReadSlack) return "";
  return binding_->prepared->is_from_file() ? "file" : "parameters";
}

std::string LoadedExecutable::DescribeJson() const {
  const Artifact& artifact = executable_->artifact();
  json::array inputs;
  for (std::size_t i = 0; i < artifact.plan.inputs.size(); ++i) {
    const bool is_parameter = artifact.plan.input_roles[i] == InputRole::kParameter;
    inputs.push_back({{"type", artifact.plan.inputs[i].ToString()},
                      {"role", is_parameter ? "parameter" : "activation"}});
  }
  json::array outputs;
  for (const OutputSpec& output : artifact.plan.outputs) {
    outputs.push_back({{"type", output.type.ToString()},
                       {"same_as_input", output.same_as_input},
                       {"updates_input", output.updates_input}});
  }
  const PlanUses uses = UsesOf(artifact.plan);
  std::size_t launches = 0;
  json::array host_calls;
  for (const PlanStep& step : artifact.plan.steps) {
    if (const auto* call = std::get_if<HostCall>(&step)) {
      host_calls.push_back({{"target", call->target},
                            {"operands", TypesOf(call->operands)},
                            {"results", TypesOf(call->results)}});
    } else {
      ++launches;
    }
  }
  return json::serialize(json::object{{"request_key", obtained_.request_key.ToHex()},
                                      {"device", device_.name()},
                                      {"source", obtained_.source},
                                      {"miss_reason", obtained_.miss_reason},
                                      {"reads_numerics", obtained_.reads_numerics},
                                      {"lookup_s", obtained_.lookup_seconds},
                                      {"compile_s", obtained_.compile_seconds},
                                      {"recorded_compile_s", obtained_.recorded_compile_seconds},
                                      {"load_s", load_seconds_},
                                      {"kernels_unique", artifact.kernels.size()},
                                      {"launches", launches},
                                      {"prepare_launches", artifact.plan.prepare.size()},
                                      {"arena_bytes", artifact.plan.arena_bytes.ToString()},
                                      {"prepared_bytes", artifact.plan.prepared_bytes.ToString()},
                                      {"prepared_from", PreparedFrom()},
                                      {"repairs", repairs()},
                                      {"repaired_parameter", repaired_parameter_.load()},
                                      {"verification", VerificationText()},
                                      {"last_of_inputs", json::value_from(uses.last_of_inputs)},
                                      {"first_of_outputs", json::value_from(uses.first_of_outputs)},
                                      {"host_calls", std::move(host_calls)},
                                      {"inputs", std::move(inputs)},
                                      {"outputs", std::move(outputs)}});
}

}  // namespace stoker
