// FurtherTries: whether a transfer whose connections break is worth another try: as long as tries
// get further than any before, and not too slowly.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

#include "client/core/connection/progress_deadline.h"

namespace stoker {

class FurtherTries {
 public:
  // `window` as that of a ProgressDeadline. The first try begins now.
  explicit FurtherTries(std::chrono::milliseconds window) : deadline_(window) {}

  // After one that got as far as `position`.
  bool MayGoOn(std::size_t position) {
    const std::size_t before = std::exchange(furthest_, std::max(furthest_, position));
    deadline_.Moved(furthest_ - before);
    return furthest_ > before && ProgressDeadline::Clock::now() <= deadline_.moment();
  }
  std::size_t furthest() const { return furthest_; }

 private:
  std::size_t furthest_ = 0;
  ProgressDeadline deadline_;
};

}  // namespace stoker
