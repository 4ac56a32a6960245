// Descriptors: how many of those that the process may have are left for connections.
#pragma once

#include <cstddef>

#include "daemon/config/config.h"
#include "protocol/base/result.h"

namespace stoker {

// Of `limit` descriptors, at most `config.max_connections`. FailedPrecondition: too few are left.
Result<std::size_t> ConnectionsWithin(std::size_t limit, const Config& config);

// The same of this process, whose limit is raised as far as it may be. Fewer connections than were
// configured are logged.
Result<std::size_t> ConnectionLimitOf(const Config& config);

}  // namespace stoker
