// Executable: a loaded artifact. Usage, once per process, per model and per call:
//
//   auto device = cpu::Device::Create();
//   auto executable = Executable::Load(**device, artifact_bytes, request_key, blobs);
//
//   cpu::Queue queue(**device, threads);                       // Where this caller's work goes.
//   std::shared_ptr<const Binding> binding;                    // One per model instance.
//   executable->BindParameters(parameters, queue, &binding);     // Cheap while nothing changed.
//
//   auto plan = executable->PlanFor(inputs);                     // Guards hold for these inputs.
//   ... allocate outputs of (*plan)->sizes.output_sizes ...
//   executable->Run(**plan, *binding, {inputs, outputs}, queue);
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/artifact/artifact.h"
#include "protocol/artifact/sized_plan.h"
#include "protocol/base/digest.h"
#include "protocol/base/result.h"
#include "protocol/guard/guard_set.h"
#include "runtime/device.h"
#include "runtime/host.h"
#include "runtime/memory_turns.h"
#include "runtime/prepared.h"
#include "runtime/prepared_store.h"
#include "runtime/queue.h"

namespace stoker {

// The parameters of one model instance with what `prepare` made of them. Immutable; holds no
// reference to the parameters' memory, which must stay valid while calls use the binding.
struct Binding {
  std::vector<Parameter> parameters;         // One per kParameter input, in the graph's order.
  std::shared_ptr<const Prepared> prepared;  // Shared with every binding of equal contents.
};

// Data pointers of one call. Inputs are row-major, in the graph's order.
struct Call {
  // One per graph input; those of parameters are not read. Those that an output updates are
  // written, and overlap with no other input.
  std::span<const void* const> inputs;
  // One per graph output, row-major, uninitialized. Not read, and maybe null, where plan().outputs
  // has same_as_input or updates_input.
  std::span<void* const> outputs;
  // Null: all of the outputs are there when the call begins, and the inputs until it ends. Else an
  // output may come, and an input go, in a turn: of queues that take turns alone.
  MemoryTurns* turns = nullptr;
};

// What a call does for one set of symbol values. Immutable.
struct ReadyPlan {
  SizedPlan sizes;
  std::unique_ptr<const LaunchList> launches;
};

// What one step of the plan cost in one call.
struct StepProfile {
  std::string label;                    // Of a host call: its target.
  std::optional<std::uint32_t> kernel;  // None: a call of a library or of the host.
  double microseconds = 0.0;
  std::int64_t flops = 0;
  std::int64_t bytes = 0;
};

// Thread-safe: concurrent calls on one executable, each with a queue of its own, work in arenas of
// their own. Must not be used in
// a child process if another thread was inside a call at the fork.
class Executable {
 public:
  // DataLoss, naming the digest, when artifact, kernel or constant are damaged or the artifact was
  // made for another request; FailedPrecondition when this processor cannot run it,
  // or a library that it calls is not here.
  // `store`: where the first parameters that are bound may be found prepared; null: nowhere.
  static Result<std::unique_ptr<Executable>> Load(Device& device, std::string_view artifact_bytes,
                                                  const Digest& request_key,
                                                  const BlobSource& blobs,
                                                  std::shared_ptr<PreparedStore> store = nullptr);

  ~Executable();

  const Artifact& artifact() const;
  const GuardSet& guards() const { return artifact().guards; }
  const LaunchPlan& plan() const { return artifact().plan; }
  // Of each parameter that `prepare` reads, in the order of Prepared::Changed: which one it is.
  std::span<const std::uint32_t> prepared_parameters() const;

  // Makes *binding hold `parameters` (one per kParameter input, in the graph's order). Does nothing
  // while every pointer and version is what it was and the prepared data is not stale. Keeps the
  // prepared data where nothing of what it was made of has changed; otherwise lets go of it and
  // runs `prepare`, unless another binding on the device has the same data prepared the same way.
  Status BindParameters(std::span<const Parameter> parameters, Queue& queue,
                        std::shared_ptr<const Binding>* binding);

  // The plan of one call whose inputs satisfy the guards. Static plans: made at load. Otherwise
  // made once per distinct set of symbol values, the most recent kMaxPlans are kept.
  Result<std::shared_ptr<const ReadyPlan>> PlanFor(std::span<const InputView> inputs);
  static constexpr std::size_t kMaxPlans = 64;

  // `plan` and `binding` come from this executable, `queue` belongs to its device. `host` runs the
  // plan's host calls: FailedPrecondition where there are any and it is null; what it returns ends
  // the call. A call that fails has written to none of its inputs; on a GPU it may have where the
  // error is Internal. The outputs are written, and all of these and the inputs free again, when
  // the queue has come so far.
  Status Run(const ReadyPlan& plan, const Binding& binding, const Call& call, Queue& queue,
             Host* host = nullptr);

  // Run, measuring each step.
  Result<std::vector<StepProfile>> Profile(const ReadyPlan& ready, const Binding& binding,
                                           const Call& call, Queue& queue, Host* host = nullptr);

 private:
  struct State;  // executable.cc
  explicit Executable(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace stoker
