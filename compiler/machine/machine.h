// Machine: what the target-neutral stages may ask of a target. What only its own scheduler and code
// generator need is in the class of the target.
#pragma once

#include <memory>

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
};

// Unimplemented, naming the target, where this compiler has no machine for it.
Result<std::unique_ptr<const Machine>> MachineOf(const Target& target);

}  // namespace stoker
