// The compile worker: a process of its own, so that a crash, a hang or a memory bomb in a compile
// costs one request and never the daemon.
#pragma once

#include <string>
#include <vector>

namespace stoker {

// The descriptor on which a worker finds its socket.
inline constexpr int kWorkerSocket = 3;

// Serves WorkerRequests from kWorkerSocket until the daemon closes it; returns the exit code. The
// process ends at once when the daemon goes away in the middle of a compile. `protections` is what
// the process is confined by (worker_sandbox.h), for the daemon to show.
int RunWorker(const std::vector<std::string>& protections);

}  // namespace stoker
