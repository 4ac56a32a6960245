#include "cache/counter_store.h"

namespace stoker {

Status CheckCounterLimits(const Counters& counters, const Counters& deltas) {
  std::size_t total = counters.size();
  for (const auto& [name, delta] : deltas) {
    if (name.empty() || name.size() > kMaxCounterNameBytes) {
      return InvalidArgument("Counter name has " + std::to_string(name.size()) + " bytes; 1 to " +
                             std::to_string(kMaxCounterNameBytes) + " are allowed.");
    }
    if (!counters.contains(name)) ++total;
  }
  if (total > kMaxCounters) {
    return ResourceExhausted("Counter store would hold " + std::to_string(total) +
                             " counters; the limit is " + std::to_string(kMaxCounters) + ".");
  }
  return Ok();
}

}  // namespace stoker
