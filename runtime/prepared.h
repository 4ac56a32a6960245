// Prepared: what a plan's `prepare` list made of the parameters: packed weights, folded constants.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "protocol/artifact/artifact.h"
#include "protocol/artifact/sized_plan.h"
#include "protocol/base/digest.h"
#include "runtime/content_watch.h"
#include "runtime/device_memory.h"

namespace stoker {

using Bytes = std::span<const std::byte>;

// One parameter input. (data, version) names the contents for as long as a binding made with it
// lives: the caller changes `version` whenever they may have changed, and does not use a version
// again at the same address.
struct Parameter {
  const void* data = nullptr;
  std::uint64_t version = 0;
  friend bool operator==(const Parameter&, const Parameter&) = default;
};

// Watched or on trial, where the device can watch. Weights that are being trained are replaced
// after a call or a few: reading all of them, to tell later whether they are still the same, is for
// those that stay.
class Prepared {
 public:
  // After so many calls what is on trial is stale: to be made again, and watched.
  static constexpr int kCallsOnTrial = 16;

  // Nobody watches: it is as good as the versions that it was made under.
  explicit Prepared(DeviceMemory memory) : memory_(std::move(memory)) {}
  // `watch`: over what was prepared; null: on trial.
  Prepared(DeviceMemory memory, std::unique_ptr<ContentWatch> watch, bool is_from_file = false)
      : memory_(std::move(memory)),
        is_from_file_(is_from_file),
        is_on_trial_(watch == nullptr),
        watch_(std::move(watch)) {}

  const DeviceMemory& memory() const { return memory_; }
  bool is_from_file() const { return is_from_file_; }  // Found in a PreparedStore.

  // After a call that used it and took `elapsed`.
  void Used(std::chrono::nanoseconds elapsed) const;
  bool IsStale() const;
  // Which of the parameters that `prepare` reads, in order of first use, holds something else now.
  std::optional<std::size_t> Changed() const;

 private:
  const DeviceMemory memory_;
  const bool is_from_file_ = false;
  const bool is_on_trial_ = false;
  const std::unique_ptr<ContentWatch> watch_;
  mutable std::atomic<int> calls_{0};
};

// What a prepare list does, independent of how its artifact numbers kernels, constants and inputs:
// plans for other shapes of the same graph prepare the same weights the same way, and then share
// them.
struct PreparePlan {
  Digest digest;
  std::vector<std::uint32_t> parameters;  // Those it reads, in order of first use: positions among
                                          // the kParameter inputs.
};
PreparePlan PreparePlanOf(const Artifact& artifact, const SizedPrepare& prepare);

// The name of the prepared memory: equal exactly when plan and contents are.
Digest PreparedKey(const PreparePlan& plan, std::span<const Parameter> parameters);

// Its name in every process of every host: made of the bytes, not of where they lie. `contents`: of
// all that `plan` reads.
Digest PortablePreparedKey(const PreparePlan& plan, const Digest& contents);

// Where that lies. `sizes`: bytes of each parameter.
std::vector<Bytes> RegionsOf(const PreparePlan& plan, std::span<const Parameter> parameters,
                             std::span<const std::int64_t> sizes);

}  // namespace stoker
