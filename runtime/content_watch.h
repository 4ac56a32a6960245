// ContentWatch: does memory still hold what it held? Who writes behind PyTorch's back (`.data`, a
// shared NumPy array, a tensor made in inference mode) changes neither address nor version.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include "protocol/base/digest.h"

namespace stoker {

// Thread-safe. Holds no reference to the memory, which must be valid in each Look.
class ContentWatch {
 public:
  virtual ~ContentWatch() = default;

  // Of what was there at first.
  virtual const Digest& digest() const = 0;

  // After a call that took `elapsed`: looks for a small part of that time.
  virtual void Look(std::chrono::nanoseconds elapsed) = 0;

  // The region that was seen to hold something else.
  virtual std::optional<std::size_t> Changed() const = 0;
};

}  // namespace stoker
