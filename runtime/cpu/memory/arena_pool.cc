#include "runtime/cpu/memory/arena_pool.h"

#include <algorithm>
#include <utility>

namespace stoker::cpu {

namespace {

std::int64_t SizeOf(const Arena& arena) { return arena.memory.size(); }

}  // namespace

Result<Arena> ArenaPool::Take(std::int64_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    const auto fit = std::ranges::lower_bound(free_, bytes, {}, SizeOf);
    if (fit != free_.end()) {
      Arena arena = std::move(*fit);
      free_.erase(fit);
      return arena;
    }
    if (!free_.empty()) free_.pop_back();
  }
  STOKER_TRY(Region memory, Region::Allocate(bytes));
  return Arena{std::move(memory)};
}

void ArenaPool::Return(Arena arena) {
  const std::lock_guard lock(mutex_);
  const auto at = std::ranges::lower_bound(free_, SizeOf(arena), {}, SizeOf);
  free_.insert(at, std::move(arena));
}

}  // namespace stoker::cpu
