// Machine: what the target-neutral stages may ask of a target. What only its own scheduler and code
// generator need is in the class of the target.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "compiler/machine/fusion_limits.h"
#include "compiler/machine/product_layout.h"
#include "protocol/base/result.h"
#include "protocol/key/target.h"

namespace stoker {

class Machine {
 public:
  virtual ~Machine() = default;

  virtual const FusionLimits& fusion_limits() const = 0;
  virtual ProductLayout LayoutOf(const Product& product) const = 0;
  // Whether a plan may run steps again until a condition that they compute does not hold.
  virtual bool runs_loops() const = 0;
  // What a library may use while it computes a matrix product; of machines whose products are calls
  // of one. `numbers`: of the result, where that is known.
  virtual std::int64_t ProductWorkspaceBytes(std::optional<std::int64_t> numbers) const {
    (void)numbers;
    return 0;
  }
};

// Unimplemented, naming the target, where this compiler has no machine for it.
Result<std::unique_ptr<const Machine>> MachineOf(const Target& target);

}  // namespace stoker
