// LogFields: what a line of the log says beside its message, as name=value. Every line about a
// client's request has its id, as "request".
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stoker {

// Names are ours: lower case, no spaces. Values may be anything, also what clients chose.
using LogFields = std::vector<std::pair<std::string_view, std::string>>;

}  // namespace stoker
