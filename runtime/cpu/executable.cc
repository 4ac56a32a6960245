#include "runtime/cpu/executable.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>

#include "protocol/artifact/kernel_abi.h"
#include "runtime/cpu/device_state.h"
#include "runtime/cpu/flush_mode.h"
#include "runtime/cpu/launcher.h"

namespace stoker::cpu {
namespace {

// Tables of one call, kept for the next one so that a warm call allocates nothing.
struct Workspace {
  Slots slots;
  std::vector<void*> table;
};

struct Sizing {
  SymBindings symbols;
  std::shared_ptr<const SizedPlan> plan;
};

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

Result<std::shared_ptr<const Region>> LoadConstant(const BlobSource& blobs,
                                                   const ConstantRef& constant) {
  STOKER_TRY(const std::string bytes,
             FetchBlob(blobs, "Constant", constant.blob, constant.size_bytes));
  if (const Digest actual = Sha256Of(bytes); actual != constant.blob) {
    return DataLoss("Constant " + constant.blob.ToHex() + " has bytes with digest " +
                    actual.ToHex() + ".");
  }
  STOKER_TRY(Region region, Region::Allocate(static_cast<std::int64_t>(bytes.size())));
  std::memcpy(region.data(), bytes.data(), bytes.size());
  return std::shared_ptr<const Region>(std::make_shared<Region>(std::move(region)));
}

}  // namespace

struct Executable::State {
  State(Device::State& shared, Artifact loaded) : device(shared), artifact(std::move(loaded)) {}

  Status LoadBlobs(const BlobSource& blobs);
  Status Size();
  // Found in the store, or made. `stay`: they have been bound for a while.
  Result<std::shared_ptr<const Prepared>> Obtain(std::span<const Parameter> parameters, bool stay,
                                                 int threads);
  Result<std::shared_ptr<const Prepared>> Prepare(std::span<const Parameter> parameters,
                                                  std::unique_ptr<ContentWatch> watch,
                                                  ThreadPool::Team& team);
  // Addresses that stay the same in every call.
  Slots FixedSlots() const;
  void SetParameters(std::span<const Parameter> parameters, Slots& slots) const;
  Status CheckCall(const SizedPlan& sizes, const Binding& binding, const Call& call) const;
  std::unique_ptr<Workspace> TakeWorkspace();
  void ReturnWorkspace(std::unique_ptr<Workspace> workspace);
  Status Run(const SizedPlan& sizes, const Binding& binding, const Call& call,
             std::vector<double>* seconds);

  Device::State& device;
  const Artifact artifact;
  std::vector<std::shared_ptr<const Kernel>> kernels;
  std::vector<std::shared_ptr<const Region>> constants;
  std::vector<std::uint32_t> parameter_inputs;   // Graph inputs of role kParameter.
  std::vector<std::uint32_t> activation_inputs;  // The others.

  SizedPrepare prepare;
  PreparePlan prepare_plan;
  std::shared_ptr<PreparedStore> store;       // May be null.
  std::vector<std::int64_t> parameter_bytes;  // Of each parameter.
  std::atomic<bool> has_prepared{false};
  std::shared_ptr<const SizedPlan> static_sizes;  // Null when the plan has symbols.

  std::mutex mutex;             // Guards what follows.
  std::vector<Sizing> sizings;  // Most recently used first.
  std::vector<std::unique_ptr<Workspace>> workspaces;
};

Status Executable::State::LoadBlobs(const BlobSource& blobs) {
  for (const KernelRef& ref : artifact.kernels) {
    STOKER_TRY(auto kernel,
               device.kernels.GetOrMake(ref.blob, [&]() -> Result<std::shared_ptr<const Kernel>> {
                 STOKER_TRY(const std::string bytes,
                            FetchBlob(blobs, "Kernel", ref.blob, ref.size_bytes));
                 return Kernel::Load(ref.blob, bytes);
               }));
    kernels.push_back(std::move(kernel));
  }
  for (const ConstantRef& ref : artifact.constants) {
    STOKER_TRY(auto constant,
               device.constants.GetOrMake(ref.blob, [&] { return LoadConstant(blobs, ref); }));
    constants.push_back(std::move(constant));
  }
  return Ok();
}

Status Executable::State::Size() {
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
  STOKER_TRY(prepare, SizePrepare(artifact));
  prepare_plan = PreparePlanOf(artifact, prepare);
  const bool symbolic = std::ranges::any_of(artifact.guards.guards(), [](const Guard& guard) {
    return guard.kind == GuardKind::kBindSymbol;
  });
  if (!symbolic) {
    STOKER_TRY(SizedPlan sizes, SizePlan(artifact, {}));
    static_sizes = std::make_shared<const SizedPlan>(std::move(sizes));
  }
  return Ok();
}

Slots Executable::State::FixedSlots() const {
  Slots slots(artifact.plan.inputs.size(), artifact.plan.outputs.size(), constants.size());
  for (std::uint32_t i = 0; i < constants.size(); ++i) {
    slots.Of(BufferKind::kConstant, i) = constants[i]->data();
  }
  return slots;
}

void Executable::State::SetParameters(std::span<const Parameter> parameters, Slots& slots) const {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    // Plans write to no input: the decoder refuses what could, and kernels keep to their plan.
    slots.Of(BufferKind::kInput, parameter_inputs[i]) = const_cast<void*>(parameters[i].data);
  }
}

// Parameters that replace others in one process are most likely being trained: no later process
// will have the same.
Result<std::shared_ptr<const Prepared>> Executable::State::Obtain(
    std::span<const Parameter> parameters, bool stay, int threads) {
  const bool is_first = !has_prepared.exchange(true);
  ThreadPool::Team team = device.threads.Gather(threads);
  if (!is_first && !stay) return Prepare(parameters, nullptr, team);
  // Before anything else reads them: what is written from here on is seen.
  auto watch =
      std::make_unique<ContentWatch>(RegionsOf(prepare_plan, parameters, parameter_bytes), team);
  const std::int64_t bytes = prepare.prepared_bytes + kBufferReadSlack;
  if (!is_first || store == nullptr || !store->Takes(bytes)) {
    return Prepare(parameters, std::move(watch), team);
  }
  const Digest key = PortablePreparedKey(prepare_plan, watch->digest());
  if (std::optional<Region> found = store->Find(key, bytes, team)) {
    std::shared_ptr<const Prepared> prepared =
        std::make_shared<Prepared>(std::move(*found), std::move(watch), /*is_from_file=*/true);
    store->Settle(prepared);
    return prepared;
  }
  STOKER_TRY(auto prepared, Prepare(parameters, std::move(watch), team));
  store->Keep(key, prepared);
  return prepared;
}

Result<std::shared_ptr<const Prepared>> Executable::State::Prepare(
    std::span<const Parameter> parameters, std::unique_ptr<ContentWatch> watch,
    ThreadPool::Team& team) {
  STOKER_TRY(Region memory, Region::Allocate(prepare.prepared_bytes + kBufferReadSlack));
  const std::int64_t stride = ScratchStride(prepare.launches);
  const std::int64_t scratch_bytes = team.threads() * stride;
  STOKER_TRY(const Region arena,
             Region::Allocate(prepare.prepare_arena_bytes + kBufferAlignment + scratch_bytes));
  Slots slots = FixedSlots();
  SetParameters(parameters, slots);
  slots.Of(BufferKind::kPrepared, 0) = memory.data();
  slots.Of(BufferKind::kPrepareArena, 0) = arena.data();
  std::vector<void*> table(MaxOperands(prepare.launches));
  std::byte* const scratch = arena.data() + arena.size() - scratch_bytes;
  // Whoever prepares, others take it, in the next process too.
  const WithFlushMode whole(FlushMode{});
  RunLaunches(team, prepare.launches, kernels, slots, table, {scratch, stride}, nullptr);
  return std::shared_ptr<const Prepared>(
      std::make_shared<Prepared>(std::move(memory), std::move(watch)));
}

Status Executable::State::CheckCall(const SizedPlan& sizes, const Binding& binding,
                                    const Call& call) const {
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
  STOKER_CHECK(sizes.launches.size() == plan.launches.size());
  return Ok();
}

std::unique_ptr<Workspace> Executable::State::TakeWorkspace() {
  {
    const std::lock_guard lock(mutex);
    if (!workspaces.empty()) {
      std::unique_ptr<Workspace> workspace = std::move(workspaces.back());
      workspaces.pop_back();
      return workspace;
    }
  }
  std::size_t operands = 0;
  for (const Launch& launch : artifact.plan.launches) {
    operands = std::max(operands, launch.buffers.size());
  }
  return std::make_unique<Workspace>(Workspace{FixedSlots(), std::vector<void*>(operands)});
}

void Executable::State::ReturnWorkspace(std::unique_ptr<Workspace> workspace) {
  const std::lock_guard lock(mutex);
  workspaces.push_back(std::move(workspace));
}

Status Executable::State::Run(const SizedPlan& sizes, const Binding& binding, const Call& call,
                              std::vector<double>* seconds) {
  STOKER_RETURN_IF_ERROR(CheckCall(sizes, binding, call));
  const auto start = std::chrono::steady_clock::now();
  ThreadPool::Team team = device.threads.Gather(call.threads);
  const std::int64_t stride = ScratchStride(sizes.launches);
  // The arena with its read slack, padded to where scratch may start.
  const std::int64_t scratch_offset =
      (sizes.arena_bytes + kBufferReadSlack + kBufferAlignment - 1) / kBufferAlignment *
      kBufferAlignment;
  STOKER_TRY(Arena arena, device.arenas.Take(scratch_offset + team.threads() * stride));
  std::byte* const memory = arena.memory.data();
  if (arena.last_user != sizes.serial) {
    std::memset(memory, 0, static_cast<std::size_t>(sizes.arena_zero_bytes));
    arena.last_user = sizes.serial;
  }
  std::unique_ptr<Workspace> workspace = TakeWorkspace();

  Slots& slots = workspace->slots;
  slots.Of(BufferKind::kArena, 0) = memory;
  slots.Of(BufferKind::kPrepared, 0) = binding.prepared->memory().data();
  for (const std::uint32_t i : activation_inputs) {
    slots.Of(BufferKind::kInput, i) = const_cast<void*>(call.inputs[i]);
  }
  SetParameters(binding.parameters, slots);
  for (std::uint32_t i = 0; i < call.outputs.size(); ++i) {
    slots.Of(BufferKind::kOutput, i) = call.outputs[i];
  }
  RunLaunches(team, sizes.launches, kernels, slots, workspace->table,
              {memory + scratch_offset, stride}, seconds);

  ReturnWorkspace(std::move(workspace));
  device.arenas.Return(std::move(arena));
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
  STOKER_RETURN_IF_ERROR(artifact->target.CheckRunsOn(device.host()));
  auto state = std::make_unique<State>(*device.state_, std::move(artifact).value());
  state->store = std::move(store);
  STOKER_RETURN_IF_ERROR(state->Size());
  STOKER_RETURN_IF_ERROR(state->LoadBlobs(blobs));
  return std::unique_ptr<Executable>(new Executable(std::move(state)));
}

Executable::Executable(std::unique_ptr<State> state) : state_(std::move(state)) {}
Executable::~Executable() = default;

const Artifact& Executable::artifact() const { return state_->artifact; }

std::span<const std::uint32_t> Executable::prepared_parameters() const {
  return state_->prepare_plan.parameters;
}

Status Executable::BindParameters(std::span<const Parameter> parameters, int threads,
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
  WeakCache<Prepared>& shared = state_->device.prepared;
  if (stay) shared.Forget(key, (*binding)->prepared);
  // Old and new prepared data never exist at the same time because of this binding.
  binding->reset();
  std::shared_ptr<const Prepared> prepared;
  while (prepared == nullptr || prepared->IsStale()) {
    if (prepared != nullptr) shared.Forget(key, prepared);
    STOKER_TRY(prepared,
               shared.GetOrMake(key, [&] { return state_->Obtain(parameters, stay, threads); }));
  }
  *binding = std::make_shared<const Binding>(
      Binding{{parameters.begin(), parameters.end()}, std::move(prepared)});
  return Ok();
}

Result<std::shared_ptr<const SizedPlan>> Executable::Sizes(std::span<const InputView> inputs) {
  if (state_->static_sizes != nullptr) return state_->static_sizes;
  SymBindings symbols = guards().Bind(inputs);
  const std::lock_guard lock(state_->mutex);
  std::vector<Sizing>& sizings = state_->sizings;
  const auto found = std::ranges::find(sizings, symbols, &Sizing::symbols);
  if (found != sizings.end()) {
    std::rotate(sizings.begin(), found, found + 1);
    return sizings.front().plan;
  }
  STOKER_TRY(SizedPlan sizes, SizePlan(artifact(), symbols));
  if (sizings.size() == kMaxSizings) sizings.pop_back();
  auto plan = std::make_shared<const SizedPlan>(std::move(sizes));
  sizings.insert(sizings.begin(), Sizing{std::move(symbols), plan});
  return plan;
}

Status Executable::Run(const SizedPlan& sizes, const Binding& binding, const Call& call) {
  return state_->Run(sizes, binding, call, nullptr);
}

Result<std::vector<LaunchProfile>> Executable::Profile(const SizedPlan& sizes,
                                                       const Binding& binding, const Call& call) {
  std::vector<double> seconds;
  STOKER_RETURN_IF_ERROR(state_->Run(sizes, binding, call, &seconds));
  std::vector<LaunchProfile> profile;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    const SizedLaunch& launch = sizes.launches[i];
    profile.push_back(LaunchProfile{plan().launches[i].label, seconds[i] * 1e6,
                                    static_cast<double>(launch.flops) / seconds[i] / 1e9,
                                    static_cast<double>(launch.bytes) / seconds[i] / 1e9});
  }
  return profile;
}

}  // namespace stoker::cpu
