// The addresses of a host by a moment: getaddrinfo knows no deadline, and takes half a minute where
// no name server answers.
#pragma once

#include <netdb.h>

#include <functional>
#include <memory>
#include <string>

#include "client/core/connection/transport.h"
#include "protocol/base/result.h"

namespace stoker {

using Addresses = std::shared_ptr<const addrinfo>;  // A list of one at least.

// As getaddrinfo: its result, and a list that freeaddrinfo takes.
using Resolve = std::function<int(const std::string& host, int flags, addrinfo** list)>;

// Unavailable: there is no such host, or nothing said so in time.
Result<Addresses> FindHost(const std::string& host, Transport::Clock::time_point moment,
                           Resolve resolve = nullptr);

}  // namespace stoker
