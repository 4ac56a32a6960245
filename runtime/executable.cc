#include "runtime/executable.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <utility>

#include "protocol/artifact/kernel_abi.h"
#include "runtime/plan_uses.h"

namespace stoker {
namespace {

Result<std::string> FetchBlob(const BlobSource& blobs, std::string_view kind, const Digest& digest,
                              std::uint64_t size_bytes) {
  const std::string name = std::string(kind) + " " + digest.ToHex();
  Result<std::string> bytes = blobs(digest);
  if (!bytes.ok()) return bytes.error().WithContext(name);
  if (bytes->size() != size_bytes) {
    return DataLoss(name + " has " + std::to_string(bytes->size()) + " bytes; the artifact says " +
                    std::to_string(size_bytes) + ".");
  }
  return bytes;
}

Result<std::shared_ptr<const LoadedKernel>> LoadKernel(Device& device, const BlobSource& blobs,
                                                       const KernelRef& kernel) {
  STOKER_TRY(const std::string bytes, FetchBlob(blobs, "Kernel", kernel.blob, kernel.size_bytes));
  return device.LoadKernel(kernel.blob, bytes);
}

Result<std::shared_ptr<const DeviceMemory>> LoadConstant(Device& device, const BlobSource& blobs,
                                                         const ConstantRef& constant) {
  STOKER_TRY(const std::string bytes,
             FetchBlob(blobs, "Constant", constant.blob, constant.size_bytes));
  if (const Digest actual = Sha256Of(bytes); actual != constant.blob) {
    return DataLoss("Constant " + constant.blob.ToHex() + " has bytes with digest " +
                    actual.ToHex() + ".");
  }
  STOKER_TRY(DeviceMemory memory, device.AllocateWith(bytes));
  return std::make_shared<const DeviceMemory>(std::move(memory));
}

AddressLayout LayoutOf(const Artifact& artifact) {
  return {artifact.plan.inputs.size(), artifact.plan.outputs.size(), artifact.constants.size()};
}

// What one set of symbol values has made.
struct Sizing {
  SymBindings symbols;
  std::shared_ptr<const ReadyPlan> plan;
};

// Of one call, by the layout; after them room for the tensors of one host call.
using Addresses = std::vector<std::byte*>;

// The most tensors that one host call of the plan has.
std::size_t HostTensorsOf(const LaunchPlan& plan) {
  std::size_t most = 0;
  for (const PlanStep& step : plan.steps) {
    const auto* call = std::get_if<HostCall>(&step);
    if (call != nullptr) most = std::max(most, call->operands.size() + call->results.size());
  }
  return most;
}

const std::string* FirstHostTarget(const LaunchPlan& plan) {
  for (const PlanStep& step : plan.steps) {
    if (const auto* call = std::get_if<HostCall>(&step)) return &call->target;
  }
  return nullptr;
}

// Plans write to no input but those that they update, and kernels keep to their plan.
std::byte* AddressOf(const void* input) {
  return static_cast<std::byte*>(const_cast<void*>(input));
}

// The host calls of one run.
class HostCalls {
 public:
  // `seconds`: receives those of each call with all that it gave to the queue, its trips together;
  // null: not wanted.
  HostCalls(const SizedPlan& sizes, const AddressLayout& layout, Host* host, std::byte** tensors,
            Queue& queue, std::vector<double>* seconds)
      : sizes_(sizes),
        layout_(layout),
        host_(host),
        tensors_(tensors),
        queue_(queue),
        seconds_(seconds) {
    if (seconds != nullptr) seconds->assign(sizes.host_calls.size(), 0);
  }

  Status At(std::size_t pause, std::span<std::byte* const> addresses) {
    const SizedHostCall& call = sizes_.host_calls[pause];
    std::byte** next = tensors_;
    for (const auto* buffers : {&call.operands, &call.results}) {
      for (const SizedBuffer& buffer : *buffers) {
        *next++ = addresses[layout_.IndexOf(buffer.kind, buffer.index)] + buffer.offset;
      }
    }
    if (seconds_ != nullptr) STOKER_RETURN_IF_ERROR(queue_.Wait());
    const auto start = std::chrono::steady_clock::now();
    const auto* operands = reinterpret_cast<const void* const*>(tensors_);
    auto* results = reinterpret_cast<void* const*>(tensors_ + call.operands.size());
    STOKER_RETURN_IF_ERROR(host_->Call(pause, {operands, call.operands.size()},
                                       {results, call.results.size()}, call.sizes, queue_));
    if (seconds_ == nullptr) return Ok();
    STOKER_RETURN_IF_ERROR(queue_.Wait());
    const auto elapsed = std::chrono::steady_clock::now() - start;
    (*seconds_)[pause] += std::chrono::duration<double>(elapsed).count();
    return Ok();
  }

 private:
  const SizedPlan& sizes_;
  const AddressLayout& layout_;
  Host* const host_;
  std::byte** const tensors_;
  Queue& queue_;
  std::vector<double>* const seconds_;
};

// What happens between the steps of one run: host calls, and turns.
class RunPauses final : public Pauses {
 public:
  RunPauses(HostCalls& host_calls, const Call& call, const LaunchPlan& plan, const SizedPlan& sizes,
            const PlanUses& uses, const AddressLayout& layout)
      : host_calls_(host_calls),
        call_(call),
        plan_(plan),
        sizes_(sizes),
        uses_(uses),
        layout_(layout) {}

  Status At(std::size_t pause, std::span<std::byte* const> addresses) override {
    return host_calls_.At(pause, addresses);
  }
  bool has_turns() const override { return call_.turns != nullptr; }
  Status Before(std::size_t step, std::span<std::byte*> addresses) override {
    const auto steps = call_.turns->steps();
    while (turn_ < steps.size() && std::cmp_less_equal(steps[turn_], step)) {
      STOKER_RETURN_IF_ERROR(call_.turns->At(turn_++));
      SetOutputs(addresses);
      STOKER_RETURN_IF_ERROR(CheckOutputs());
    }
    return Ok();
  }

  void SetOutputs(std::span<std::byte*> addresses) const {
    for (std::uint32_t i = 0; i < call_.outputs.size(); ++i) {
      const std::int32_t updated = plan_.outputs[i].updates_input;
      addresses[layout_.IndexOf(BufferKind::kOutput, i)] =
          updated >= 0 ? AddressOf(call_.inputs[static_cast<std::size_t>(updated)])
                       : static_cast<std::byte*>(call_.outputs[i]);
    }
  }
  // Whether those are there that steps name before the next turn.
  Status CheckOutputs() const {
    const auto steps = call_.turns->steps();
    const auto end = turn_ < steps.size() ? steps[turn_] : std::ssize(plan_.steps);
    for (std::size_t i = 0; i < call_.outputs.size(); ++i) {
      const std::int64_t first = uses_.first_of_outputs[i];
      if (call_.outputs[i] != nullptr || first < 0 || first >= end) continue;
      const bool is_empty = std::ranges::count(sizes_.output_sizes[i], 0) != 0;
      if (is_empty || plan_.outputs[i].updates_input >= 0) continue;
      return FailedPrecondition("Output " + std::to_string(i) + " has no memory when step " +
                                std::to_string(first) + " comes to it.");
    }
    return Ok();
  }

 private:
  HostCalls& host_calls_;
  const Call& call_;
  const LaunchPlan& plan_;
  const SizedPlan& sizes_;
  const PlanUses& uses_;
  const AddressLayout& layout_;
  std::size_t turn_ = 0;  // The next.
};

// How long each launch and each host call took.
struct StepSeconds {
  std::vector<double> launches;
  std::vector<double> host_calls;
};

}  // namespace

struct Executable::State {
  State(Device& on, Artifact loaded)
      : device(on),
        artifact(std::move(loaded)),
        layout(LayoutOf(artifact)),
        uses(UsesOf(artifact.plan)),
        host_tensors(HostTensorsOf(artifact.plan)),
        first_host_target(FirstHostTarget(artifact.plan)) {}

  Status LoadBlobs(const BlobSource& blobs);
  // Once the blobs are there.
  Status MakePlans();
  Result<std::shared_ptr<const ReadyPlan>> Ready(const SymBindings& symbols) const;
  // Found in the store, or made. `stay`: they have been bound for a while.
  Result<std::shared_ptr<const Prepared>> Obtain(std::span<const Parameter> parameters, bool stay,
                                                 Queue& queue);
  Result<DeviceMemory> Prepare(std::span<const Parameter> parameters, Queue& queue) const;
  // Addresses that stay the same in every call.
  Addresses FixedAddresses() const;
  void SetParameters(std::span<const Parameter> parameters, Addresses& addresses) const;
  Status CheckCall(const ReadyPlan& plan, const Binding& binding, const Call& call,
                   const Queue& queue, const Host* host) const;
  std::unique_ptr<Addresses> TakeAddresses();
  void ReturnAddresses(std::unique_ptr<Addresses> addresses);
  Status Run(const ReadyPlan& plan, const Binding& binding, const Call& call, Queue& queue,
             Host* host, StepSeconds* seconds);

  Device& device;
  const Artifact artifact;
  const AddressLayout layout;
  const PlanUses uses;
  const std::size_t host_tensors;
  const std::string* const first_host_target;  // Null: there are no host calls.
  std::vector<std::shared_ptr<const LoadedKernel>> kernels;
  std::vector<std::shared_ptr<const DeviceMemory>> constants;
  std::vector<std::uint32_t> parameter_inputs;   // Graph inputs of role kParameter.
  std::vector<std::uint32_t> activation_inputs;  // The others.

  bool prepares = false;  // There is something to prepare.
  PreparePlan prepare_plan;
  std::int64_t prepared_bytes = 0;  // With what may be read past their end.
  std::unique_ptr<const LaunchList> prepare;
  std::shared_ptr<PreparedStore> store;       // May be null.
  std::vector<std::int64_t> parameter_bytes;  // Of each parameter.
  std::atomic<bool> has_prepared{false};
  std::shared_ptr<const ReadyPlan> static_plan;  // Null when the plan has symbols.

  ForkMutex mutex;              // Guards what follows.
  std::vector<Sizing> sizings;  // Most recently used first.
  // Kept for the next calls, so that a warm one allocates nothing.
  std::vector<std::unique_ptr<Addresses>> free_addresses;
};

Status Executable::State::LoadBlobs(const BlobSource& blobs) {
  for (const PlanStep& step : artifact.plan.steps) {
    const auto* call = std::get_if<LibraryCall>(&step);
    if (call != nullptr) STOKER_RETURN_IF_ERROR(device.LoadLibrary(call->library));
  }
  for (const KernelRef& ref : artifact.kernels) {
    STOKER_TRY(auto kernel,
               device.kernels_.GetOrMake(ref.blob, [&] { return LoadKernel(device, blobs, ref); }));
    kernels.push_back(std::move(kernel));
  }
  for (const ConstantRef& ref : artifact.constants) {
    STOKER_TRY(auto constant, device.constants_.GetOrMake(
                                  ref.blob, [&] { return LoadConstant(device, blobs, ref); }));
    constants.push_back(std::move(constant));
  }
  return Ok();
}

Status Executable::State::MakePlans() {
  for (std::uint32_t i = 0; i < artifact.plan.inputs.size(); ++i) {
    const bool parameter = artifact.plan.input_roles[i] == InputRole::kParameter;
    (parameter ? parameter_inputs : activation_inputs).push_back(i);
  }
  for (const std::uint32_t i : parameter_inputs) {
    const TensorType& type = artifact.plan.inputs[i];
    if (!type.shape.IsStatic()) store = nullptr;
    const SymDim elements = type.shape.NumElements();
    parameter_bytes.push_back(elements.IsConstant() ? elements.constant() * SizeInBytes(type.dtype)
                                                    : 0);
  }
  STOKER_TRY(const SizedPrepare sizes, SizePrepare(artifact));
  prepare_plan = PreparePlanOf(artifact, sizes);
  prepares = !sizes.launches.empty();
  prepared_bytes = sizes.prepared_bytes + kBufferReadSlack;
  const std::vector<SizedWork> launches(sizes.launches.begin(), sizes.launches.end());
  STOKER_TRY(prepare, device.Ready(launches, {},
                                   {BufferKind::kPrepareArena, sizes.prepare_arena_bytes, 0, 0},
                                   layout, kernels));
  const bool symbolic = std::ranges::any_of(artifact.guards.guards(), [](const Guard& guard) {
    return guard.kind == GuardKind::kBindSymbol;
  });
  if (!symbolic) {
    STOKER_TRY(static_plan, Ready({}));
  }
  return Ok();
}

Result<std::shared_ptr<const ReadyPlan>> Executable::State::Ready(
    const SymBindings& symbols) const {
  STOKER_TRY(SizedPlan sizes, SizePlan(artifact, symbols));
  const ArenaUse arena{BufferKind::kArena, sizes.arena_bytes, sizes.arena_zero_bytes, sizes.serial};
  STOKER_TRY(auto launches, device.Ready(sizes.launches, sizes.marks, arena, layout, kernels));
  return std::make_shared<const ReadyPlan>(ReadyPlan{std::move(sizes), std::move(launches)});
}

Addresses Executable::State::FixedAddresses() const {
  Addresses addresses(layout.size() + host_tensors);
  for (std::uint32_t i = 0; i < constants.size(); ++i) {
    addresses[layout.IndexOf(BufferKind::kConstant, i)] = constants[i]->data();
  }
  return addresses;
}

void Executable::State::SetParameters(std::span<const Parameter> parameters,
                                      Addresses& addresses) const {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    addresses[layout.IndexOf(BufferKind::kInput, parameter_inputs[i])] =
        AddressOf(parameters[i].data);
  }
}

// Parameters that replace others in one process are most likely being trained: no later process
// will have the same.
Result<std::shared_ptr<const Prepared>> Executable::State::Obtain(
    std::span<const Parameter> parameters, bool stay, Queue& queue) {
  if (!prepares) return std::make_shared<const Prepared>(DeviceMemory());
  if (!device.watches()) {
    STOKER_TRY(DeviceMemory memory, Prepare(parameters, queue));
    return std::make_shared<const Prepared>(std::move(memory));
  }
  const bool is_first = !has_prepared.exchange(true);
  const auto make =
      [&](std::unique_ptr<ContentWatch> watch) -> Result<std::shared_ptr<const Prepared>> {
    STOKER_TRY(DeviceMemory memory, Prepare(parameters, queue));
    return std::make_shared<const Prepared>(std::move(memory), std::move(watch));
  };
  if (!is_first && !stay) return make(nullptr);
  // Before anything else reads them: what is written from here on is seen.
  std::unique_ptr<ContentWatch> watch =
      device.Watch(RegionsOf(prepare_plan, parameters, parameter_bytes), queue);
  if (!is_first || store == nullptr || !store->Takes(prepared_bytes)) return make(std::move(watch));
  const Digest key = PortablePreparedKey(prepare_plan, watch->digest());
  if (std::optional<DeviceMemory> found = store->Find(key, prepared_bytes, queue)) {
    return std::make_shared<const Prepared>(std::move(*found), std::move(watch),
                                            /*is_from_file=*/true);
  }
  STOKER_TRY(auto prepared, make(std::move(watch)));
  store->Keep(key, prepared->memory());
  return prepared;
}

Result<DeviceMemory> Executable::State::Prepare(std::span<const Parameter> parameters,
                                                Queue& queue) const {
  if (!prepares) return DeviceMemory();
  STOKER_TRY(DeviceMemory memory, device.Allocate(prepared_bytes));
  Addresses addresses = FixedAddresses();
  SetParameters(parameters, addresses);
  addresses[layout.IndexOf(BufferKind::kPrepared)] = memory.data();
  STOKER_RETURN_IF_ERROR(
      queue.Run(*prepare, std::span(addresses).first(layout.size()), nullptr, nullptr));
  // Others will read it, from queues of their own.
  STOKER_RETURN_IF_ERROR(queue.Wait());
  return memory;
}

Status Executable::State::CheckCall(const ReadyPlan& ready, const Binding& binding,
                                    const Call& call, const Queue& queue, const Host* host) const {
  const LaunchPlan& plan = artifact.plan;
  if (call.inputs.size() != plan.inputs.size() || call.outputs.size() != plan.outputs.size()) {
    return InvalidArgument("The call has " + std::to_string(call.inputs.size()) + " inputs and " +
                           std::to_string(call.outputs.size()) + " outputs; the plan has " +
                           std::to_string(plan.inputs.size()) + " and " +
                           std::to_string(plan.outputs.size()) + ".");
  }
  if (binding.parameters.size() != parameter_inputs.size() || binding.prepared == nullptr) {
    return InvalidArgument("The binding has " + std::to_string(binding.parameters.size()) +
                           " parameters; the plan has " + std::to_string(parameter_inputs.size()) +
                           ".");
  }
  if (first_host_target != nullptr && host == nullptr) {
    return FailedPrecondition("The plan calls '" + *first_host_target +
                              "' of the host framework, and no host was given to run it.");
  }
  if (call.turns != nullptr && !queue.takes_turns()) {
    return Unimplemented("Memory comes and goes between calls alone on " +
                         device.target().ToString() + ".");
  }
  STOKER_CHECK(ready.sizes.launches.size() + ready.sizes.host_calls.size() == plan.steps.size());
  return Ok();
}

std::unique_ptr<Addresses> Executable::State::TakeAddresses() {
  {
    const std::lock_guard lock(mutex);
    if (!free_addresses.empty()) {
      std::unique_ptr<Addresses> addresses = std::move(free_addresses.back());
      free_addresses.pop_back();
      return addresses;
    }
  }
  return std::make_unique<Addresses>(FixedAddresses());
}

void Executable::State::ReturnAddresses(std::unique_ptr<Addresses> addresses) {
  const std::lock_guard lock(mutex);
  free_addresses.push_back(std::move(addresses));
}

Status Executable::State::Run(const ReadyPlan& plan, const Binding& binding, const Call& call,
                              Queue& queue, Host* host, StepSeconds* seconds) {
  STOKER_RETURN_IF_ERROR(CheckCall(plan, binding, call, queue, host));
  const auto start = std::chrono::steady_clock::now();
  std::unique_ptr<Addresses> addresses = TakeAddresses();
  (*addresses)[layout.IndexOf(BufferKind::kPrepared)] = binding.prepared->memory().data();
  for (const std::uint32_t i : activation_inputs) {
    (*addresses)[layout.IndexOf(BufferKind::kInput, i)] = AddressOf(call.inputs[i]);
  }
  SetParameters(binding.parameters, *addresses);
  HostCalls host_calls(plan.sizes, layout, host, addresses->data() + layout.size(), queue,
                       seconds == nullptr ? nullptr : &seconds->host_calls);
  RunPauses pauses(host_calls, call, artifact.plan, plan.sizes, uses, layout);
  pauses.SetOutputs(*addresses);
  if (call.turns != nullptr) STOKER_RETURN_IF_ERROR(pauses.CheckOutputs());
  const Status status = queue.Run(*plan.launches, std::span(*addresses).first(layout.size()),
                                  host == nullptr && call.turns == nullptr ? nullptr : &pauses,
                                  seconds == nullptr ? nullptr : &seconds->launches);
  ReturnAddresses(std::move(addresses));
  STOKER_RETURN_IF_ERROR(status);
  if (!prepare_plan.parameters.empty()) {
    binding.prepared->Used(std::chrono::steady_clock::now() - start);
  }
  return Ok();
}

Result<std::unique_ptr<Executable>> Executable::Load(Device& device,
                                                     std::string_view artifact_bytes,
                                                     const Digest& request_key,
                                                     const BlobSource& blobs,
                                                     std::shared_ptr<PreparedStore> store) {
  Result<Artifact> artifact = DecodeArtifact(artifact_bytes);
  if (!artifact.ok()) {
    // Whatever is wrong in it, it is not what the compiler stored.
    return DataLoss("Artifact of request " + request_key.ToHex() + " (" +
                    Sha256Of(artifact_bytes).ToHex() + "): " + artifact.error().message);
  }
  if (artifact->request_key != request_key) {
    return DataLoss("Artifact of request " + request_key.ToHex() + " was made for request " +
                    artifact->request_key.ToHex() + ".");
  }
  STOKER_RETURN_IF_ERROR(artifact->target.CheckRunsOn(device.target()));
  auto state = std::make_unique<State>(device, std::move(artifact).value());
  state->store = std::move(store);
  STOKER_RETURN_IF_ERROR(state->LoadBlobs(blobs));
  STOKER_RETURN_IF_ERROR(state->MakePlans());
  return std::unique_ptr<Executable>(new Executable(std::move(state)));
}

Executable::Executable(std::unique_ptr<State> state) : state_(std::move(state)) {}
Executable::~Executable() = default;

const Artifact& Executable::artifact() const { return state_->artifact; }

std::span<const std::uint32_t> Executable::prepared_parameters() const {
  return state_->prepare_plan.parameters;
}

Status Executable::BindParameters(std::span<const Parameter> parameters, Queue& queue,
                                  std::shared_ptr<const Binding>* binding) {
  if (parameters.size() != state_->parameter_inputs.size()) {
    return InvalidArgument(std::to_string(parameters.size()) +
                           " parameters are given; the plan has " +
                           std::to_string(state_->parameter_inputs.size()) + ".");
  }
  const bool stay = *binding != nullptr && std::ranges::equal((*binding)->parameters, parameters);
  if (stay && !(*binding)->prepared->IsStale()) return Ok();
  const Digest key = PreparedKey(state_->prepare_plan, parameters);
  if (!stay && *binding != nullptr && !(*binding)->prepared->IsStale() &&
      PreparedKey(state_->prepare_plan, (*binding)->parameters) == key) {
    // Nothing of what has changed was prepared.
    *binding = std::make_shared<const Binding>(
        Binding{{parameters.begin(), parameters.end()}, (*binding)->prepared});
    return Ok();
  }
  WeakCache<Prepared>& shared = state_->device.prepared_;
  if (stay) shared.Forget(key, (*binding)->prepared);
  // Old and new prepared data never exist at the same time because of this binding.
  binding->reset();
  std::shared_ptr<const Prepared> prepared;
  while (prepared == nullptr || prepared->IsStale()) {
    if (prepared != nullptr) shared.Forget(key, prepared);
    STOKER_TRY(prepared,
               shared.GetOrMake(key, [&] { return state_->Obtain(parameters, stay, queue); }));
  }
  *binding = std::make_shared<const Binding>(
      Binding{{parameters.begin(), parameters.end()}, std::move(prepared)});
  return Ok();
}

Result<std::shared_ptr<const ReadyPlan>> Executable::PlanFor(std::span<const InputView> inputs) {
  if (state_->static_plan != nullptr) return state_->static_plan;
  SymBindings symbols = guards().Bind(inputs);
  const std::lock_guard lock(state_->mutex);
  std::vector<Sizing>& sizings = state_->sizings;
  const auto found = std::ranges::find(sizings, symbols, &Sizing::symbols);
  if (found != sizings.end()) {
    std::rotate(sizings.begin(), found, found + 1);
    return sizings.front().plan;
  }
  STOKER_TRY(auto plan, state_->Ready(symbols));
  if (sizings.size() == kMaxPlans) sizings.pop_back();
  sizings.insert(sizings.begin(), Sizing{std::move(symbols), plan});
  return plan;
}

Status Executable::Run(const ReadyPlan& plan, const Binding& binding, const Call& call,
                       Queue& queue, Host* host) {
  return state_->Run(plan, binding, call, queue, host, nullptr);
}

Result<std::vector<StepProfile>> Executable::Profile(const ReadyPlan& ready, const Binding& binding,
                                                     const Call& call, Queue& queue, Host* host) {
  StepSeconds seconds;
  STOKER_RETURN_IF_ERROR(state_->Run(ready, binding, call, queue, host, &seconds));
  std::vector<StepProfile> profile;
  std::size_t launches = 0;
  std::size_t host_calls = 0;
  for (const PlanStep& step : plan().steps) {
    StepProfile& entry = profile.emplace_back();
    if (const auto* launch = std::get_if<Launch>(&step)) {
      const auto& sized = std::get<SizedLaunch>(ready.sizes.launches[launches]);
      entry = {launch->label, launch->kernel, seconds.launches[launches++] * 1e6, sized.flops,
               sized.bytes};
      continue;
    }
    if (const auto* library = std::get_if<LibraryCall>(&step)) {
      const auto& sized = std::get<SizedLibraryCall>(ready.sizes.launches[launches]);
      entry = {library->label, std::nullopt, seconds.launches[launches++] * 1e6, sized.flops,
               sized.bytes};
      continue;
    }
    const SizedHostCall& sized = ready.sizes.host_calls[host_calls];
    entry.label = std::get<HostCall>(step).target;
    entry.microseconds = seconds.host_calls[host_calls++] * 1e6;
    for (const SizedBuffer& buffer : sized.operands) entry.bytes += buffer.size;
    for (const SizedBuffer& buffer : sized.results) entry.bytes += buffer.size;
  }
  return profile;
}

}  // namespace stoker
