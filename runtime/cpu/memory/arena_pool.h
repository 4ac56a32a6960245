// ArenaPool: the memory calls work in. Executables that run one after the other use the same
// memory, whichever of them needs most; calls at the same time get one each.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "protocol/base/fork_mutex.h"
#include "protocol/base/result.h"
#include "runtime/cpu/memory/region.h"

namespace stoker::cpu {

struct Arena {
  Region memory;
  std::uint64_t last_user = 0;  // Serial of the sized plan that ran in it last; 0: none.
};

// Thread-safe.
class ArenaPool {
 public:
  // At least `bytes`; contents are whatever the last call left. Allocates only when nothing that is
  // free is large enough, and then gives the largest free one back to the system.
  Result<Arena> Take(std::int64_t bytes);
  void Return(Arena arena);

 private:
  ForkMutex mutex_;
  std::vector<Arena> free_;  // Sorted by size.
};

}  // namespace stoker::cpu
