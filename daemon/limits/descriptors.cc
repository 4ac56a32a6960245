#include "daemon/limits/descriptors.h"

#include <sys/resource.h>

#include <algorithm>
#include <string>

#include "daemon/log/log.h"
#include "daemon/net/http/limits.h"

namespace stoker {
namespace {

// The files that it keeps open (cache/rocks/database/options.cc), and those that it writes.
constexpr std::size_t kOfDatabase = 512 + 64;
// Standard streams, log, locks, files that are read or written for a moment, service manager.
constexpr std::size_t kOfProcess = 32;
constexpr std::size_t kPerWorker = 2;         // While it starts, both ends of its socket.
constexpr std::size_t kPerNetworkThread = 4;  // What its loop waits with, and a new connection.
constexpr std::size_t kPerAddress = 2;        // And the lock of a Unix socket.
constexpr std::size_t kLeastConnections = 16;

std::size_t NeededBeside(const Config& config) {
  return kOfProcess + kPerWorker * static_cast<std::size_t>(config.workers + 1) +
         kPerNetworkThread * static_cast<std::size_t>(config.network_threads + 1) +
         kPerAddress * config.listen.size() + net::ServerLimits().max_urgent_connections;
}

// What the process may have once it has asked for `wanted`.
std::size_t RaisedLimit(std::size_t wanted) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  limit.rlim_cur = std::max<rlim_t>(limit.rlim_cur, std::min<rlim_t>(limit.rlim_max, wanted));
  (void)setrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<std::size_t>(limit.rlim_cur);
}

}  // namespace

Result<std::size_t> ConnectionsWithin(std::size_t limit, const Config& config) {
  const auto wanted = static_cast<std::size_t>(config.max_connections);
  const std::size_t beside = NeededBeside(config);
  const std::size_t least = kOfDatabase + beside + std::min(wanted, kLeastConnections);
  if (limit >= least) return std::min(wanted, limit - kOfDatabase - beside);
  return FailedPrecondition("The limit of descriptors (ulimit -n) is " + std::to_string(limit) +
                            "; at least " + std::to_string(least) + " are needed, of which " +
                            std::to_string(kOfDatabase) + " by the database.");
}

Result<std::size_t> ConnectionLimitOf(const Config& config) {
  const auto wanted = static_cast<std::size_t>(config.max_connections);
  const std::size_t limit = RaisedLimit(wanted + kOfDatabase + NeededBeside(config));
  STOKER_TRY(const std::size_t connections, ConnectionsWithin(limit, config));
  if (connections < wanted) {
    LogWarning("{} connections at most: the limit of descriptors (ulimit -n) is {}", connections,
               limit);
  }
  return connections;
}

}  // namespace stoker
