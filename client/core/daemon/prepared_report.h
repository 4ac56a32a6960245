// Tells the daemon how often packed weights were found and made, for its statistics.
#pragma once

#include <string>

#include "client/core/daemon/daemon_client.h"
#include "runtime/cpu/prepared_store.h"

namespace stoker {

// For a PreparedStore, which calls it in the background. Starts no daemon, waits for one that hangs
// a second at most, and loses what none takes.
cpu::PreparedStore::OnOutcome ReportPrepared(DaemonClientOptions daemon, std::string name_space);

}  // namespace stoker
