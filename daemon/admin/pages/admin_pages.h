// AdminPages: what operators look at: /status, /metrics, /-/healthy, /-/ready.
#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/access/grant.h"
#include "daemon/admin/pages/request_metrics.h"
#include "daemon/net/http/http.h"
#include "daemon/net/http/limits.h"
#include "daemon/service/compile_service.h"
#include "daemon/service/statistics/cache_counters.h"
#include "daemon/service/statistics/history.h"
#include "daemon/service/statistics/statistics.h"

namespace stoker {

class AdminPages {
 public:
  using Server = std::function<net::ServerCounts()>;

  // All references must outlive it. `insecure`: addresses to be warned of.
  AdminPages(boost::asio::thread_pool& blocking, Statistics& statistics, const History& history,
             CacheCounters& cache_counters, CompileService& service,
             RequestMetrics& request_metrics, std::uint64_t max_cache_bytes, Server server,
             std::vector<std::string> insecure = {});

  net::HttpReply Healthy() const;  // Takes no lock.
  net::HttpReply Ready() const;    // 503 and why, where it is not ready. Takes no lock.
  // JSON; STATUS.md has its fields. `query` of the request: "since=SECONDS". Compiles, jobs and
  // models are those of namespaces that the sender may read.
  boost::asio::awaitable<net::HttpReply> Status(const std::string& query, const Grant& grant);
  boost::asio::awaitable<net::HttpReply> Metrics();  // Prometheus text format 0.0.4.

  // Found out by who looks after the folder.
  void SetFolderGone(bool is_gone) { folder_is_gone_ = is_gone; }

  void CountRequest();
  std::uint64_t requests() const { return requests_.load(std::memory_order_relaxed); }

 private:
  // `since_s`: statistics of the last so many seconds; else of all time.
  std::string StatusJson(std::optional<std::int64_t> since_s, const Grant& grant);
  std::string MetricsText();
  // Why no requests should come here; empty: they may.
  std::string_view NotReady() const;

  boost::asio::thread_pool& blocking_;
  Statistics& statistics_;
  const History& history_;
  CacheCounters& cache_counters_;
  CompileService& service_;
  RequestMetrics& request_metrics_;
  const std::uint64_t max_cache_bytes_;
  const Server server_;
  const std::vector<std::string> insecure_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::atomic<std::uint64_t> requests_{0};
  std::atomic<bool> folder_is_gone_{false};
};

}  // namespace stoker
