// CounterStore: named numbers that survive a restart (hits, seconds saved, bytes). Integers are
// exact up to 2^53. Safe from any thread; may block on I/O.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "protocol/base/result.h"

namespace stoker {

inline constexpr std::size_t kMaxCounters = 65536;
inline constexpr std::size_t kMaxCounterNameBytes = 512;

using Counters = std::map<std::string, double, std::less<>>;

// 0 where nothing was counted.
inline double ValueOf(const Counters& counters, std::string_view name) {
  const auto it = counters.find(name);
  return it == counters.end() ? 0 : it->second;
}

class CounterStore {
 public:
  virtual ~CounterStore() = default;

  // Adds each delta to its counter, all or none; a counter that does not exist starts at zero.
  // Survives the end of this process, not necessarily a power failure.
  // kInvalidArgument or kResourceExhausted: a limit above.
  virtual Status Add(const Counters& deltas) = 0;

  virtual Result<Counters> Load() = 0;
};

// kInvalidArgument or kResourceExhausted if `deltas` may not be added to `counters`.
Status CheckCounterLimits(const Counters& counters, const Counters& deltas);

}  // namespace stoker
