// What fails again and again is said once: when it begins, and when it becomes another failure.
#pragma once

#include <mutex>
#include <string>

#include "protocol/base/result.h"

namespace stoker {

// From any thread.
class Trouble {
 public:
  // Whether to say this outcome. After a success the same failure is worth saying again.
  bool IsNew(const Status& outcome) {
    std::string trouble = outcome.ok() ? "" : WithoutNumbers(outcome.error().message);
    const std::lock_guard lock(mutex_);
    std::swap(said_, trouble);
    return !outcome.ok() && said_ != trouble;
  }

 private:
  // How much room a disk has, or which file is written, differs each time.
  static std::string WithoutNumbers(const std::string& message) {
    std::string text;
    for (const char c : message) {
      const bool is_digit = c >= '0' && c <= '9';
      if (!is_digit || text.empty() || text.back() != '0') text += is_digit ? '0' : c;
    }
    return text;
  }

  std::mutex mutex_;
  std::string said_;
};

}  // namespace stoker
