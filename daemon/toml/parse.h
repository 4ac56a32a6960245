// TOML texts, parsed by toml++. Include this in place of its header: some malformed texts break an
// assertion of its parser (3.3: "[, a = 1]"), which would end the daemon; here it is an error.
#pragma once

#include <stdexcept>
#include <string_view>

#include "protocol/base/result.h"

#define TOML_ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : throw std::logic_error("assertion " #condition))
#include <toml++/toml.h>

namespace stoker {

// InvalidArgument says which line is wrong, and why.
Result<toml::table> ParseToml(std::string_view text);

}  // namespace stoker
