// Where the cache says what an operator should know: damage, quarantine, moved-aside databases.
#pragma once

#include <functional>
#include <string_view>

namespace stoker {

// Called from any thread, one line per call. May be empty.
using CacheLog = std::function<void(std::string_view message)>;

}  // namespace stoker
