// CallMemory: what calls work in. Taken and given back in the order of a stream, so that nobody
// waits, and the next call there has the same memory.
#pragma once

#include <cstddef>
#include <memory>

#include "protocol/base/result.h"
#include "runtime/cuda/driver/context.h"

namespace stoker::cuda {

// Thread-safe. Called with the device's context current.
class CallMemory {
 public:
  virtual ~CallMemory() = default;

  // Aligned to 64 bytes and uninitialized, for what `stream` is given from now on.
  // ResourceExhausted, with the bytes, where there is none left. `bytes` > 0.
  virtual Result<CuPointer> Take(std::size_t bytes, CuStream stream) const = 0;
  // What the same stream has been given may still use it.
  virtual Status GiveBack(CuPointer memory, CuStream stream) const = 0;
};

// The driver's, from a pool of its own, which keeps what was given back; while a stream is captured
// the memory is the graph's. A driver without pools waits for the device instead.
Result<std::shared_ptr<const CallMemory>> DriverCallMemory(std::shared_ptr<const Context> context);

}  // namespace stoker::cuda
