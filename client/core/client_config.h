// Where a client's settings come from: an explicit option over the environment over the default.
#pragma once

#include <string>

#include "client/core/daemon/daemon_client.h"
#include "client/core/trust/capture_writers.h"
#include "protocol/base/result.h"
#include "runtime/cpu/prepared_store.h"

namespace stoker {

// Empty strings and zeros mean "not given".
struct ClientSettings {
  std::string url;
  std::string name_space;
  std::string cache_dir;
  std::string stokerd;
  std::int64_t connect_timeout_ms = 0;
  std::int64_t compile_timeout_ms = 0;
};

struct ClientConfig {
  DaemonClientOptions daemon;
  std::string name_space;
  std::string cache_dir;                 // Of a private daemon.
  cpu::PreparedStore::Options prepared;  // Packed weights of this host.
  std::string manifest;                  // Where requests are recorded; empty: nowhere.
  WriterSettings writers;                // Of captures.
  std::string program_error;             // Why a private daemon cannot be started; empty: it can.
};

// A missing stokerd is no error here: a daemon may be running already.
Result<ClientConfig> ResolveClientConfig(const ClientSettings& settings);

}  // namespace stoker
