// What fails again and again is said once: when it begins, and when it becomes another failure.
#pragma once

#include <string>

#include "protocol/base/result.h"

namespace stoker {

// For one thread at a time.
class Trouble {
 public:
  // Whether to say this outcome. After a success the same failure is worth saying again.
  bool IsNew(const Status& outcome) {
    std::string trouble = outcome.ok() ? "" : outcome.error().message;
    std::swap(said_, trouble);
    return !outcome.ok() && said_ != trouble;
  }

 private:
  std::string said_;
};

}  // namespace stoker
