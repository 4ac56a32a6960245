#include "daemon/app.h"

#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstdio>
#include <filesystem>

#include "cache/stack/stack.h"
#include "daemon/access/access_control.h"
#include "daemon/admin/api/bazel_cache.h"
#include "daemon/admin/api/captures_api.h"
#include "daemon/admin/dashboard/dashboard.h"
#include "daemon/admin/http_api.h"
#include "daemon/admin/pages/admin_pages.h"
#include "daemon/admin/reply/version.h"
#include "daemon/config/exposure.h"
#include "daemon/housekeeping/folder_claim.h"
#include "daemon/housekeeping/history_file.h"
#include "daemon/housekeeping/housekeeper.h"
#include "daemon/housekeeping/process_signals.h"
#include "daemon/housekeeping/service_manager.h"
#include "daemon/limits/address_space.h"
#include "daemon/limits/descriptors.h"
#include "daemon/log/log.h"
#include "daemon/net/listener.h"
#include "daemon/net/stream/tls_server.h"
#include "daemon/service/compile_service.h"
#include "daemon/service/statistics/cache_counters.h"
#include "daemon/service/statistics/statistics.h"
#include "daemon/service/store/upkeep.h"
#include "daemon/signing/key_ring.h"

namespace stoker {
namespace {

namespace asio = boost::asio;

constexpr int kBlockingThreads = 4;
// For a daemon that drains: less than a client waits for the one it started.
constexpr std::chrono::seconds kHandOverPatience{8};

StackConfig StackConfigOf(const Config& config) {
  StackConfig stack;
  stack.path = config.cache_dir + "/store";
  stack.max_bytes = static_cast<std::uint64_t>(config.max_cache_bytes);
  stack.memory_bytes = static_cast<std::uint64_t>(config.memory_cache_bytes);
  stack.min_free_disk_bytes = static_cast<std::uint64_t>(config.min_free_bytes);
  stack.max_pinned_bytes = config.max_pinned_bytes == 0
                               ? stack.max_bytes / 2
                               : static_cast<std::uint64_t>(config.max_pinned_bytes);
  stack.quotas.default_bytes = static_cast<std::uint64_t>(config.default_namespace_quota_bytes);
  for (const auto& [name_space, bytes] : config.namespace_quota_bytes) {
    stack.quotas.bytes.emplace(name_space, static_cast<std::uint64_t>(bytes));
  }
  stack.log = [](std::string_view message) { LogWarning("cache: {}", message); };
  return stack;
}

ServiceConfig ServiceConfigOf(const Config& config) {
  ServiceConfig service;
  service.queue_limit = static_cast<int>(config.queue_limit);
  service.worker.max_workers = static_cast<int>(config.workers);
  service.worker.time_limit = std::chrono::seconds(config.compile_timeout_s);
  service.worker.program.memory_limit_mib = static_cast<std::uint64_t>(config.compile_memory_mib);
  if (!config.nvjitlink.empty()) {
    service.worker.program.settings["STOKER_NVJITLINK"] = config.nvjitlink;
  }
  service.log.info = [](std::string_view message, const LogFields& fields) {
    LogInfo("{}", LogPayload(message, fields));
  };
  service.log.warn = [](std::string_view message, const LogFields& fields) {
    LogWarning("{}", LogPayload(message, fields));
  };
  return service;
}

Upkeep::Config UpkeepConfigOf(const CompileService& service) {
  return {.is_draining = [&service] { return service.draining(); },
          .log = [](std::string_view message) { LogInfo("{}", message); }};
}

Result<std::unique_ptr<AccessControl>> AccessOf(const Config& config) {
  AccessConfig access;
  access.own_uid = geteuid();
  access.other_users = Scopes::Parse(config.other_users).value();
  access.token_file = config.token_file;
  access.certificates = Scopes::Parse(config.certificate_scopes).value();
  access.insecure = config.insecure;
  STOKER_TRY(auto control, AccessControl::Open(access));
  if (control->tokens() != nullptr) LogInfo("{}", control->tokens()->Describe());
  return control;
}

// Null where no address is https.
Result<std::unique_ptr<net::TlsServer>> TlsOf(const Config& config) {
  if (!HasTlsAddress(config)) return std::unique_ptr<net::TlsServer>();
  STOKER_TRY(auto tls,
             net::TlsServer::Open({config.tls_certificate, config.tls_key, config.tls_client_ca},
                                  [](std::string_view event) { LogDebug("{}", event); }));
  LogInfo("TLS certificate {}", tls->Describe());
  return tls;
}

void WarnOfExposure(const Config& config) {
  if (const std::string unused = UnusedTlsOptions(config); !unused.empty()) {
    LogWarning("no address is https://, and nothing uses {}", unused);
  }
  for (const std::string& address : InsecureAddresses(config)) {
    LogWarning("INSECURE: {} is open to other hosts without {}; who shows no credential may: {}",
               address, address.starts_with("https:") ? "a credential" : "TLS", config.other_users);
  }
}

std::string KeyFolderOf(const Config& config) { return config.cache_dir + "/keys"; }

Result<std::unique_ptr<KeyRing>> KeysOf(const Config& config) {
  KeyRingConfig keys;
  keys.folder = KeyFolderOf(config);
  keys.files = config.signing_keys;
  keys.trusted = config.trusted_signers;
  keys.overlap = std::chrono::seconds(config.key_overlap_s);
  STOKER_TRY(auto ring, KeyRing::Open(keys));
  LogInfo("signs with {}", ListOf(ring->keys()->Announced()));
  return ring;
}

net::ServerLimits LimitsOf(const Config& config, std::size_t max_connections) {
  net::ServerLimits limits;
  limits.threads = static_cast<int>(config.network_threads);
  limits.max_connections = max_connections;
  return limits;
}

unsigned SocketModeOf(const Config& config) {
  return static_cast<unsigned>(std::stoul(config.socket_mode, nullptr, 8));
}

Result<std::unique_ptr<FolderClaim>> TakeFolder(const std::string& folder) {
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code) {
    return FailedPrecondition("Cache folder '" + folder + "' cannot be made: " + code.message() +
                              ".");
  }
  return FolderClaim::Take(folder, kHandOverPatience);
}

Status Listen(net::Server& server, const Config& config) {
  for (const std::string& text : config.listen) {
    STOKER_TRY(const net::ListenAddress address, net::ListenAddress::Parse(text));
    STOKER_TRY(const net::ListenAddress bound, server.Listen(address, SocketModeOf(config)));
    LogInfo("stokerd {} listens on {}", kDaemonVersion, bound.ToString());
  }
  return Ok();
}

// What was counted until the end.
void WriteCounters(CacheCounters& cache_counters, Statistics& statistics, HistoryFile& history) {
  cache_counters.Fold();
  if (const Status status = statistics.Flush(); !status.ok()) {
    LogWarning("statistics: {}", status.error().message);
  }
  history.Record(/*is_end=*/true);
  if (const Status status = history.Write(); !status.ok()) {
    LogWarning("{}", status.error().message);
  }
}

}  // namespace

Status RunApp(const Config& config) {
  const ServiceManager manager = ServiceManager::OfEnvironment();
  Log log(config.log_file, config.log_level,
          config.log_format == "json" ? LogFormat::kJson : LogFormat::kText);
  STOKER_RETURN_IF_ERROR(CheckAddressSpace());
  STOKER_TRY(const std::size_t max_connections, ConnectionLimitOf(config));
  STOKER_TRY(const std::unique_ptr<FolderClaim> claim, TakeFolder(config.cache_dir));
  STOKER_TRY(const std::unique_ptr<AccessControl> access, AccessOf(config));
  STOKER_TRY(const std::unique_ptr<net::TlsServer> tls, TlsOf(config));
  WarnOfExposure(config);
  STOKER_TRY(const std::unique_ptr<KeyRing> keys, KeysOf(config));
  STOKER_TRY(const std::unique_ptr<CacheStack> stack,
             CacheStack::Open(StackConfigOf(config), nullptr));
  STOKER_TRY(const std::unique_ptr<Statistics> statistics, Statistics::Open(stack->counters()));

  HistoryFile history(config.cache_dir + "/history", *statistics);

  asio::io_context io(1);
  asio::thread_pool blocking(kBlockingThreads);
  CacheCounters cache_counters(*stack, *statistics);
  CompileService service(io.get_executor(), blocking, *stack, *statistics, *keys,
                         ServiceConfigOf(config));
  RequestMetrics request_metrics(HttpApi::RouteNames());
  AdminPages::Server counts;
  AdminPages pages(
      blocking, *statistics, history.history(), cache_counters, service, request_metrics,
      static_cast<std::uint64_t>(config.max_cache_bytes), [&counts] { return counts(); },
      InsecureAddresses(config));
  Dashboard dashboard(*statistics, history.history(), service);
  BazelCache bazel(blocking, *stack, *statistics);
  std::function<void()> quit;
  CapturesApi captures(blocking, *stack, *statistics);
  EntriesApi entries(blocking, *stack, *keys);
  Upkeep upkeep(*stack, UpkeepConfigOf(service));
  UpkeepApi upkeep_api(blocking, *stack, upkeep);
  HttpApi api(*access, service, pages, dashboard, bazel, captures, entries, upkeep_api,
              request_metrics, [&quit] { quit(); });
  net::Server server(api, LimitsOf(config, max_connections), tls.get());
  counts = [&server] {
    return net::ServerCounts{server.connections_by_state(), server.kept_uploads()};
  };
  Housekeeper housekeeper(io, blocking, config, *claim, *access, tls.get(), *keys, *stack,
                          *statistics, history, cache_counters, service, upkeep, pages, server,
                          manager);
  quit = [&housekeeper] { housekeeper.Drain("asked to quit"); };

  ProcessSignals signals(io, log, housekeeper, manager);
  STOKER_RETURN_IF_ERROR(Listen(server, config));
  housekeeper.Start();
  manager.SayReady(kServingStatus);

  io.run();
  server.Stop();
  upkeep.Stop();
  blocking.join();
  WriteCounters(cache_counters, *statistics, history);
  LogInfo("stopped");
  return Ok();
}

Status RotateKeyOf(const Config& config) {
  if (!config.signing_keys.empty()) {
    return FailedPrecondition(
        "Option 'signing-key' names the keys: give it the new one first, and the old one for as "
        "long "
        "as clients pin it.");
  }
  STOKER_TRY(const PublicKey made,
             RotateKey(KeyFolderOf(config), std::chrono::seconds(config.key_overlap_s)));
  std::printf("%s\n", made.ToString().c_str());
  return Ok();
}

}  // namespace stoker
