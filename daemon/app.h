// App: the daemon, put together from its configuration.
#pragma once

#include "daemon/config/config.h"
#include "protocol/base/result.h"

namespace stoker {

// Serves until SIGTERM, SIGINT, POST /-/quit or the idle timeout; then drains. An error means that
// serving did not start.
Status RunApp(const Config& config);

// Makes a new signing key for the daemon of this configuration, and prints it.
Status RotateKeyOf(const Config& config);

}  // namespace stoker
