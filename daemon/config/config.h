// Config: everything that can be set about a daemon. A flag wins over an environment variable,
// which wins over the configuration file (TOML), which wins over the default.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/base/result.h"

namespace stoker {

struct Config {
  std::vector<std::string> listen;  // Empty: unix:<cache_dir>/stokerd.sock
  std::string cache_dir;            // Empty: ~/.cache/stoker
  std::int64_t max_cache_bytes = std::int64_t{20} << 30;
  std::int64_t memory_cache_bytes = std::int64_t{256} << 20;
  std::int64_t min_free_bytes = std::int64_t{256} << 20;  // Of the cache's disk.
  std::int64_t max_pinned_bytes = 0;                      // 0: half of max_cache_bytes.
  std::int64_t default_namespace_quota_bytes = 0;         // 0: no quota.
  std::map<std::string, std::int64_t> namespace_quota_bytes;
  std::int64_t workers = 1;
  std::int64_t queue_limit = 256;
  std::int64_t compile_timeout_s = 600;
  std::int64_t compile_memory_mib = 16384;
  std::string nvjitlink;            // The library, for CUDA targets; empty: looked for.
  std::int64_t idle_timeout_s = 0;  // 0: never stops by itself.
  std::int64_t drain_timeout_s = 30;
  std::int64_t max_connections = 16384;
  std::int64_t network_threads = 2;
  std::string socket_mode = "0600";  // Of Unix sockets, octal.
  std::string other_users = "none";  // What users of this host other than the daemon's own may do.
  std::string token_file;            // Empty: no tokens.
  std::string tls_certificate;       // PEM files; those of https:// addresses.
  std::string tls_key;
  std::string tls_client_ca;                      // Empty: clients need no certificate.
  std::string certificate_scopes = "read,write";  // Of clients with one, where tokens say nothing.
  bool insecure = false;                  // Other hosts may reach it without TLS or a credential.
  std::vector<std::string> signing_keys;  // Files; empty: <cache_dir>/keys has the daemon's own.
  std::vector<std::string> trusted_signers;  // Keys of other daemons, or files of them.
  std::int64_t key_overlap_s = 30 * 86400;
  std::string log_level = "info";   // trace, debug, info, warn, error, off
  std::string log_file;             // Empty: standard error.
  std::string log_format = "text";  // text, json

  std::string ToString() const;  // As TOML.
};

enum class Mode { kServe, kCheckConfig, kRotateKey, kHelp, kVersion, kWorker };

struct CommandLine {
  Mode mode = Mode::kServe;
  Config config;
};

// `environment` gives the value of a variable, nullptr when unset. InvalidArgument names the
// option, where it was set, its value and what is expected.
Result<CommandLine> ParseCommandLine(const std::vector<std::string>& arguments,
                                     const std::function<const char*(const char*)>& environment);
std::string HelpText();

}  // namespace stoker
