// Caches in files: what a daemon has goes into a bundle, and out of it into another daemon. Both
// can be interrupted at any moment and go on when they are started again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "client/core/daemon/daemon_client.h"
#include "protocol/base/result.h"

namespace stoker {

struct TransferCounts {
  std::size_t artifacts = 0;
  std::size_t captures = 0;
  std::size_t there_already = 0;  // Of both: nothing was to be done.
  std::size_t skipped = 0;        // Of another compiler than the daemon's; gone meanwhile.
  std::uint64_t bytes = 0;        // Of blobs and captures that were transferred.
};

// How far it is, in entries.
using OnTransfer = std::function<void(std::size_t done, std::size_t total)>;

// What the daemon has in `name_space` (empty: everywhere) that its own compiler made. A bundle that
// is there is added to. NotFound: it has nothing of its compiler's. DataLoss: something came
// damaged; what did not is there, and the bundle is not finished before an export that gets it all.
Result<TransferCounts> ExportBundle(DaemonClient& daemon, const std::string& name_space,
                                    const std::string& path, const OnTransfer& on_transfer);

// Needs the scope "admin". Captures keep their namespaces, as artifacts do.
Result<TransferCounts> ImportBundle(DaemonClient& daemon, const std::string& path,
                                    const OnTransfer& on_transfer);

}  // namespace stoker
