// ProgressDeadline: by when more of a body must have moved. Whoever stands still, or moves it
// slower than kMinBytesPerS, would otherwise keep a job waiting without an end.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace stoker {

class ProgressDeadline {
 public:
  using Clock = std::chrono::steady_clock;

  // What the daemon asks of bodies that are sent to it, too.
  static constexpr std::size_t kMinBytesPerS = 64 << 10;

  // Each `window` must bring that rate, the first from now on.
  explicit ProgressDeadline(std::chrono::milliseconds window)
      : window_(window),
        least_bytes_(std::max<std::size_t>(
            1, kMinBytesPerS * static_cast<std::size_t>(window.count()) / 1000)) {}

  Clock::time_point moment() const { return begin_ + window_; }
  std::chrono::milliseconds window() const { return window_; }
  std::size_t least_bytes() const { return least_bytes_; }

  void Moved(std::size_t bytes) {
    bytes_ += bytes;
    if (bytes_ >= least_bytes_) Renew();
  }
  // What moved is worth a window, however little it is.
  void Renew() {
    begin_ = Clock::now();
    bytes_ = 0;
  }

 private:
  const std::chrono::milliseconds window_;
  const std::size_t least_bytes_;
  Clock::time_point begin_ = Clock::now();
  std::size_t bytes_ = 0;
};

}  // namespace stoker
