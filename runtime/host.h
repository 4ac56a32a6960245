// Host: what runs the ops of the host framework that a plan calls. The client has it, or there is
// none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "protocol/base/result.h"
#include "runtime/queue.h"

namespace stoker {

class Host {
 public:
  virtual ~Host() = default;

  // Runs the plan's host call number `call`, counted over its host calls alone, on the calling
  // thread: it has read the operands and written the results when it returns, or when the stream of
  // the run's queue, which it gave that work to, has come so far. All are row-major, at addresses
  // of the queue's device, aligned to their elements; `sizes` are those of all dims of each
  // operand, then of each result. They are the call's: nobody may look there later. `queue`: the
  // run's own.
  virtual Status Call(std::size_t call, std::span<const void* const> operands,
                      std::span<void* const> results, std::span<const std::int64_t> sizes,
                      Queue& queue) = 0;
};

}  // namespace stoker
