// The clock that stores take through their constructors.
#pragma once

#include <cstdint>
#include <functional>

namespace stoker {

// Nanoseconds since the Unix epoch.
using UnixClock = std::function<std::int64_t()>;

std::int64_t SystemUnixNanos();

}  // namespace stoker
