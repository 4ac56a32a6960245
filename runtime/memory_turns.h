// MemoryTurns: memory that comes and goes while a plan runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "protocol/base/result.h"

namespace stoker {

// What whoever calls does before certain steps of the plan: it makes outputs that the plan comes to
// next, and gives back inputs that no step names any more (PlanUses). Work given to a GPU before is
// not done by then: what is taken again has to be in the order of the queue's stream.
class MemoryTurns {
 public:
  virtual ~MemoryTurns() = default;

  // Numbers of steps, ascending.
  virtual std::span<const std::int64_t> steps() const = 0;
  // Before step steps()[turn], on the thread that called Run. Each once, in order, up to the first
  // that fails, which ends the run. The addresses of the call's outputs are read again after it.
  virtual Status At(std::size_t turn) = 0;
};

}  // namespace stoker
