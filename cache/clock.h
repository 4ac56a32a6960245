// The clock that stores take through their constructors.
#pragma once

#include <cstdint>
#include <functional>

namespace stoker {

inline constexpr std::int64_t kNanosPerSecond = 1'000'000'000;

// Nanoseconds since the Unix epoch.
using UnixClock = std::function<std::int64_t()>;

std::int64_t SystemUnixNanos();

// Nanoseconds that never go back, from an arbitrary start: for durations.
using MonotonicClock = std::function<std::int64_t()>;

std::int64_t SteadyNanos();

}  // namespace stoker
