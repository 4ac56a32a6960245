// Counts what `operator new` is asked for in this process, on any thread. Linking it replaces the
// operators.
#pragma once

#include <cstdint>

namespace stoker {

// Calls of any `operator new` so far.
std::int64_t AllocationCount();

}  // namespace stoker
