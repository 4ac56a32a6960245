// Housekeeper: what the daemon does by the clock. Once a second counters go to disk, idleness, the
// files of tokens, certificates and signing keys, the cache folder and the program's file are
// looked at; every few minutes the cache is maintained; it ends the process when draining is done.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <cstdint>
#include <string>

#include "cache/stack/stack.h"
#include "daemon/access/access_control.h"
#include "daemon/admin/pages/admin_pages.h"
#include "daemon/config/config.h"
#include "daemon/housekeeping/folder_claim.h"
#include "daemon/housekeeping/history_file.h"
#include "daemon/housekeeping/program_watch.h"
#include "daemon/housekeeping/service_manager.h"
#include "daemon/net/listener.h"
#include "daemon/net/stream/tls_server.h"
#include "daemon/service/compile_service.h"
#include "daemon/service/statistics/cache_counters.h"
#include "daemon/service/statistics/statistics.h"
#include "daemon/service/store/upkeep.h"
#include "daemon/signing/key_ring.h"
#include "protocol/base/trouble.h"

namespace stoker {

class Housekeeper {
 public:
  // Everything must outlive it. `tls` is null where no address is https.
  Housekeeper(boost::asio::io_context& io, boost::asio::thread_pool& blocking, const Config& config,
              FolderClaim& claim, AccessControl& access, net::TlsServer* tls, KeyRing& keys,
              CacheStack& stack, Statistics& statistics, HistoryFile& history,
              CacheCounters& cache_counters, CompileService& service, Upkeep& upkeep,
              AdminPages& pages, net::Server& server, const ServiceManager& manager);

  void Start();

  // At once, whatever the clock says. Safe from any thread.
  void RereadCredentials();

  // Stops accepting; `io` stops when the running requests have ended, or after the drain timeout.
  // Safe from any thread; later calls do nothing.
  void Drain(const std::string& why);

 private:
  void ArmTimer();
  void Tick();
  void WriteCounters(bool maintain);
  void ReadTokens(bool at_once);
  void ReadCertificate(bool at_once);
  void ReadKeys();
  void LookAtFolder();
  bool IsIdle();
  bool IsDrained() const;

  boost::asio::io_context& io_;
  boost::asio::thread_pool& blocking_;
  const Config& config_;
  FolderClaim& claim_;
  AccessControl& access_;
  net::TlsServer* const tls_;
  KeyRing& keys_;
  CacheStack& stack_;
  Statistics& statistics_;
  HistoryFile& history_;
  CacheCounters& cache_counters_;
  CompileService& service_;
  Upkeep& upkeep_;
  AdminPages& pages_;
  net::Server& server_;
  const ServiceManager& manager_;
  std::atomic<bool> writing_{false};
  Trouble statistics_trouble_;
  Trouble maintenance_trouble_;
  Trouble history_trouble_;
  Trouble key_trouble_;
  bool folder_is_gone_ = false;
  const ProgramWatch program_;
  // Everything below runs on it.
  boost::asio::strand<boost::asio::io_context::executor_type> strand_;
  boost::asio::steady_timer timer_;
  std::chrono::steady_clock::time_point drain_deadline_;
  std::uint64_t last_requests_ = 0;
  std::int64_t idle_ticks_ = 0;
  int ticks_ = 0;  // Since the cache was maintained.
};

}  // namespace stoker
