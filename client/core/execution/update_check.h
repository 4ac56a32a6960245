// UpdateCheck: whether the inputs that a call updates share memory with others.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "protocol/artifact/launch_plan.h"
#include "protocol/base/result.h"

namespace stoker {

class UpdateCheck {
 public:
  UpdateCheck() = default;
  // `bytes`: of each input.
  UpdateCheck(const LaunchPlan& plan, std::vector<std::int64_t> bytes);

  // FailedPrecondition where an input that the plan updates shares memory with another one. At the
  // addresses of the call before, which all of a training job's are, it looks no further.
  Status Check(std::span<const void* const> inputs);

 private:
  struct Extent {
    std::uintptr_t begin, end;
    std::uint32_t input;
  };

  std::vector<bool> is_updated_;  // By input; empty: none is.
  std::vector<std::int64_t> bytes_;
  std::vector<Extent> extents_;      // Of a check, kept for the next one.
  std::vector<const void*> passed_;  // The last inputs that did.
};

}  // namespace stoker
