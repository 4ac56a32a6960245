#include "runtime/cpu/arena_pool.h"

#include <algorithm>
#include <utility>

namespace stoker::cpu {

Result<Region> ArenaPool::Take(std::int64_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    const auto fit = std::ranges::lower_bound(free_, bytes, {}, &Region::size);
    if (fit != free_.end()) {
      Region arena = std::move(*fit);
      free_.erase(fit);
      return arena;
    }
    if (!free_.empty()) free_.pop_back();
  }
  return Region::Allocate(bytes);
}

void ArenaPool::Return(Region arena) {
  const std::lock_guard lock(mutex_);
  const auto at = std::ranges::lower_bound(free_, arena.size(), {}, &Region::size);
  free_.insert(at, std::move(arena));
}

}  // namespace stoker::cpu
