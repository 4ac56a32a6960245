// What a browser on this host might be made to ask by a page of another site.
#pragma once

#include <optional>

#include "daemon/net/http/http.h"
#include "protocol/base/result.h"

namespace stoker::net {

// A page of another site that a browser on this host shows must not command the daemon, nor read
// from it under a name of that site which leads to this host. Nobody else sends such headers.
std::optional<Error> RefusalOfForeignPage(const HttpRequest& request);

}  // namespace stoker::net
