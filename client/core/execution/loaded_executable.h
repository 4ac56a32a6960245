// LoadedExecutable: an artifact on one of this process's devices with the current binding of its
// parameters. What a stoker_executable is.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/core/execution/host_calls.h"
#include "client/core/execution/job_device.h"
#include "client/core/execution/update_check.h"
#include "client/core/session.h"
#include "protocol/base/fork_mutex.h"
#include "protocol/graph/graph.h"
#include "runtime/executable.h"

namespace stoker {

class LoadedExecutable {
 public:
  // `verified_against`: the graph whose interpretation calls are compared with until one is right.
  // `prepared`: where the parameters may be found packed, on cores; may be null.
  static Result<std::unique_ptr<LoadedExecutable>> Load(JobDevice& device, Obtained obtained,
                                                        std::optional<Graph> verified_against,
                                                        std::shared_ptr<PreparedStore> prepared);

  // Runs the plan's host calls, from now on; null: nobody does. Not for concurrent use with Run.
  void SetHost(std::unique_ptr<ForeignHost> host) { host_ = std::move(host); }
  ForeignHost* host() const { return host_.get(); }  // May be null.
  // Whether what `give` gives a stream, as of a host call, stands for it from now on: see
  // Device::Record, ForeignHost::Keep. FailedPrecondition where there is no host.
  Result<bool> RecordHostCall(std::size_t call, const HostPlace& place,
                              const std::function<Status(void* stream)>& give);
  // `stream`, here and below: see CallQueue.
  Status Bind(std::span<const void* const> data, std::span<const std::int64_t> versions,
              void* stream);
  void Unbind();
  // Inputs of parameters may be null. Not for concurrent use with Bind. Parameters that were found
  // to hold something else under the same version are prepared again first. On a GPU the outputs
  // are there when the stream has come so far; a run that is verified waits for that. `turns`: see
  // stoker::Call; a run that is verified takes none.
  Status Run(std::span<const void* const> inputs, std::span<const std::int64_t> symbols,
             std::span<void* const> outputs, void* stream, MemoryTurns* turns = nullptr);
  Result<std::string> ProfileJson(std::span<const void* const> inputs,
                                  std::span<const std::int64_t> symbols,
                                  std::span<void* const> outputs, void* stream);
  std::string DescribeJson() const;
  // How often Run found that.
  std::int64_t repairs() const { return repairs_.load(std::memory_order_relaxed); }

 private:
  // Sizes, row-major strides and bytes of every input for one set of symbol values.
  struct Geometry {
    std::vector<std::vector<std::int64_t>> sizes;
    std::vector<std::vector<std::int64_t>> strides;
    std::vector<std::int64_t> bytes;
  };
  // What one call needs beside its addresses, kept for the next one with the same symbol values, so
  // that a warm call allocates nothing.
  struct Frame {
    std::vector<std::int64_t> symbols;  // None for a static graph.
    Geometry geometry;
    UpdateCheck update_check;
    std::vector<const void*> inputs;
    std::vector<InputView> views;  // Of `geometry`.
    std::shared_ptr<const ReadyPlan> plan;
    std::int64_t Bytes() const;  // About what it takes, the plan included.
  };
  // Of frames that are kept: some three hundred sizes of a model of two hundred launches. At least
  // one is.
  static constexpr std::int64_t kMaxFrameBytes = std::int64_t{48} << 20;

  explicit LoadedExecutable(JobDevice& device) : device_(device) {}
  enum class Verification : std::uint8_t { kNone, kPending, kVerified, kRefused };

  std::string_view PreparedFrom() const;  // file, parameters; empty: there is nothing yet.
  bool Verifies() const;                  // Until a call has been as the interpreter says.
  std::string_view VerificationText() const;
  // The binding for one call, which keeps it: another call may make it anew meanwhile.
  Result<std::shared_ptr<const Binding>> CurrentBinding(Queue& queue);
  Result<Geometry> GeometryOf(std::span<const std::int64_t> symbols) const;
  Result<std::unique_ptr<Frame>> TakeFrame(std::span<const std::int64_t> symbols);
  void ReturnFrame(std::unique_ptr<Frame> frame);
  // A frame filled for one call whose guards hold.
  Result<std::unique_ptr<Frame>> Prepare(const Binding& binding,
                                         std::span<const void* const> inputs,
                                         std::span<const std::int64_t> symbols,
                                         std::span<void* const> outputs);
  // No kernel writes an output that is an input as it stands.
  Status CopyInputsThatAreOutputs(const Frame& frame, std::span<void* const> outputs,
                                  Queue& queue) const;
  // Per input: its bytes, of those that the call updates, while calls are verified.
  using KeptInputs = std::vector<std::string>;
  Result<KeptInputs> KeepUpdated(const Frame& frame, Queue& queue) const;
  // Waits. The updated inputs hold again what was kept.
  Status RestoreUpdated(const Frame& frame, const KeptInputs& kept, Queue& queue) const;
  // When it fails, the updated inputs have been restored.
  Status Verify(const Frame& frame, const KeptInputs& kept, std::span<void* const> outputs,
                Queue& queue);
  Status CompareWithInterpreter(const Graph& graph, const Frame& frame, const KeptInputs& kept,
                                std::span<void* const> outputs, Queue& queue) const;

  Obtained obtained_;
  double load_seconds_ = 0;
  JobDevice& device_;
  std::unique_ptr<Executable> executable_;
  std::unique_ptr<ForeignHost> host_;  // May be null.
  mutable ForkMutex binding_mutex_;
  std::shared_ptr<const Binding> binding_;  // Guarded by it, as what follows.
  // What is to be prepared anew; of a forked process, who did that may not be there.
  std::vector<Parameter> rebinding_;
  std::atomic<std::int64_t> repairs_{0};
  std::atomic<std::int64_t> repaired_parameter_{-1};  // The last one.
  std::vector<std::uint32_t> parameter_inputs_;       // Input number of each parameter.
  bool is_static_ = true;                             // No input has a symbol.

  ForkMutex frames_mutex_;
  std::vector<std::unique_ptr<Frame>> frames_;  // Not in use; most recently used last.
  std::int64_t frame_bytes_ = 0;                // Of these.

  std::atomic<Verification> verification_{Verification::kNone};
  ForkMutex verify_mutex_;
  // While it Verifies. Shared with who interprets it: never under the lock, for the host's ops may
  // call this, or fork.
  std::shared_ptr<const Graph> verified_against_;
};

}  // namespace stoker
