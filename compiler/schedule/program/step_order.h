// StepOrder: which steps of a program must be done when another begins, on a device that runs steps
// side by side where they need nothing of each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/schedule/program/program.h"

namespace stoker {

// What the step does to its k-th buffer; true where nobody knows better.
bool MayWrite(const Step& step, std::size_t k);

class StepOrder {
 public:
  static constexpr std::size_t kMost = 64;

  // `side_by_side`: of so many steps next to each other some may run at once; at most kMost. 0: one
  // after the other. A call of the host comes after all before it, and before all after it.
  StepOrder(const Program& program, std::size_t side_by_side);

  // Whether `earlier` is done when `later`, which stands behind it, begins.
  bool IsDone(std::size_t earlier, std::size_t later) const;

 private:
  std::size_t side_by_side_;
  // Of each step: bit k: the one that stands k + 1 before it comes before it.
  std::vector<std::uint64_t> before_;
  std::vector<std::size_t> done_;  // Of each step: so many first ones are done whatever they do.
};

}  // namespace stoker
