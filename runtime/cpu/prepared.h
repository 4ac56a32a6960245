// Prepared: what a plan's `prepare` list made of the parameters: packed weights, folded constants.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "protocol/artifact/artifact.h"
#include "protocol/artifact/sized_plan.h"
#include "protocol/base/digest.h"
#include "runtime/cpu/region.h"
#include "runtime/cpu/thread_pool.h"

namespace stoker::cpu {

// One parameter input. (data, version) names the contents for as long as a binding made with it
// lives: the caller changes `version` whenever they may have changed, and does not use a version
// again at the same address.
struct Parameter {
  const void* data = nullptr;
  std::uint64_t version = 0;
  friend bool operator==(const Parameter&, const Parameter&) = default;
};

struct Prepared {
  Region memory;
  bool is_from_file = false;  // Found in a PreparedStore.
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

// Its name in every process of every host: made of the bytes, not of where they lie. `sizes`: bytes
// of each parameter. Reads all that `plan` reads.
Digest PortablePreparedKey(const PreparePlan& plan, std::span<const Parameter> parameters,
                           std::span<const std::int64_t> sizes, ThreadPool& pool, int threads);

}  // namespace stoker::cpu
