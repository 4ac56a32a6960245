// Ops of the host framework, which a C function runs.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <vector>

#include "protocol/artifact/launch_plan.h"
#include "protocol/base/result.h"
#include "protocol/graph/interpret/interpreter.h"
#include "runtime/device.h"
#include "runtime/host.h"
#include "runtime/queue.h"
#include "stoker/stoker.h"

namespace stoker {

// Where a call's operands, then its results, are, and all of their dims, as Host::Call has them; no
// dims where these do not vary.
struct HostPlace {
  std::span<const void* const> addresses;
  std::span<const std::int64_t> sizes;
};

// Thread-safe.
class ForeignHost final : public Host {
 public:
  ForeignHost(stoker_host_fn call, void* context) : call_(call), context_(context) {}

  // FailedPrecondition where the function says that it failed: why is for its owner to know.
  Status Call(std::size_t call, std::span<const void* const> operands,
              std::span<void* const> results, std::span<const std::int64_t> sizes,
              Queue& queue) override;

  // From now on this stands for the call in this place, instead of what did: the function is not
  // called.
  void Keep(std::size_t call, const HostPlace& place, std::shared_ptr<const Recording> recording);
  // Nothing stands for a call any more.
  void Forget();
  // How many calls the calling thread has had done by what is kept, of any host.
  static std::size_t KeptCalls();

 private:
  struct Kept {
    std::vector<const void*> addresses;
    std::vector<std::int64_t> sizes;
    std::shared_ptr<const Recording> recording;
  };

  // Nothing where none stands for it.
  std::optional<Status> GiveKept(std::size_t call, std::span<const void* const> operands,
                                 std::span<void* const> results,
                                 std::span<const std::int64_t> sizes, Queue& queue) const;

  const stoker_host_fn call_;
  void* const context_;
  std::atomic<bool> has_kept_{false};
  mutable std::shared_mutex mutex_;
  std::vector<std::vector<Kept>> kept_;  // Of each call. Guarded by it.
};

// Runs the host calls of `plan` on a device, for an interpreter.
struct InterpretedHost {
  const LaunchPlan& plan;
  Host& host;
  Device& device;
  Queue& queue;  // The device's, and where the host's own work goes.

  // What InterpretOptions::extern_call asks for: a node of the graph that the plan was compiled
  // from, or of a region, as a host call of the plan. Calls of one target and one type are the
  // same.
  Status Call(const Node& node, std::span<const InterpreterTensor* const> operands,
              std::span<InterpreterTensor> results) const;
};

}  // namespace stoker
