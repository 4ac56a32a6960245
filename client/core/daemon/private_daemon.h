// The embedded default: with no URL given, a stokerd of the user's own on a Unix socket.
#pragma once

#include <chrono>
#include <string>

#include "client/core/settings/url.h"
#include "protocol/base/result.h"

namespace stoker {

struct PrivateDaemonOptions {
  std::string cache_dir;  // Absolute.
  std::string program;    // stokerd; empty: what FindDaemonProgram finds.
};

// "$XDG_CACHE_HOME/stoker" or "~/.cache/stoker".
Result<std::string> DefaultCacheDir();
// The program to start: `given`, or $STOKER_DAEMON, or what is found beside this library
// (lib/../bin, same folder) or on PATH. NotFound lists where it looked.
Result<std::string> FindDaemonProgram(const std::string& given);

// The socket of the private daemon of a cache folder: inside it, or, when that path is too long
// for a socket, in the runtime folder under a name made from the cache folder's digest.
DaemonUrl PrivateDaemonUrl(const std::string& cache_dir);

// Starts the daemon unless one answers at `url` already. Processes that start together agree on
// one through a lock file. The daemon outlives this process, in a session of its own, and stops
// itself when idle. Its output goes to <cache_dir>/stokerd.log.
Status EnsurePrivateDaemon(const PrivateDaemonOptions& options, const DaemonUrl& url,
                           std::chrono::milliseconds timeout);

}  // namespace stoker
