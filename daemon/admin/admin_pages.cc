#include "daemon/admin/admin_pages.h"

#include <charconv>

#include "daemon/admin/replies.h"
#include "daemon/service/blocking.h"

namespace stoker {
namespace {

constexpr std::string_view kSince = "since=";

Result<std::optional<std::int64_t>> SinceOf(std::string_view query) {
  if (query.empty()) return std::optional<std::int64_t>();
  std::int64_t seconds = 0;
  if (query.starts_with(kSince)) {
    const auto [end, error] =
        std::from_chars(query.data() + kSince.size(), query.data() + query.size(), seconds);
    const bool is_whole = error == std::errc() && end == query.data() + query.size();
    if (is_whole && seconds >= 1 && seconds <= kHistoryLongestS) return std::optional(seconds);
  }
  return InvalidArgument("Query '" + std::string(query) +
                         "' is not since=SECONDS, a whole number from 1 to " +
                         std::to_string(kHistoryLongestS) + ".");
}

}  // namespace

AdminPages::AdminPages(boost::asio::thread_pool& blocking, Statistics& statistics,
                       const History& history, CacheCounters& cache_counters,
                       CompileService& service, RequestMetrics& request_metrics,
                       std::uint64_t max_cache_bytes)
    : blocking_(blocking),
      statistics_(statistics),
      history_(history),
      cache_counters_(cache_counters),
      service_(service),
      request_metrics_(request_metrics),
      max_cache_bytes_(max_cache_bytes) {}

void AdminPages::CountRequest() { requests_.fetch_add(1, std::memory_order_relaxed); }

net::HttpReply AdminPages::Healthy() const {
  net::HttpReply reply;
  reply.content_type = "text/plain";
  reply.body = "healthy\n";
  return reply;
}

net::HttpReply AdminPages::Ready() const {
  net::HttpReply reply;
  reply.content_type = "text/plain";
  reply.status = service_.draining() ? 503 : 200;
  reply.body = service_.draining() ? "draining\n" : "ready\n";
  if (reply.status == 503) reply.retry_after_s = 1;
  return reply;
}

boost::asio::awaitable<net::HttpReply> AdminPages::Status(const std::string& query) {
  const auto since_s = SinceOf(query);
  if (!since_s.ok()) co_return ReplyOf(since_s.error());
  net::HttpReply reply;
  reply.content_type = "application/json";
  reply.body = co_await RunBlocking(blocking_, [&] { return StatusJson(*since_s); });
  co_return reply;
}

boost::asio::awaitable<net::HttpReply> AdminPages::Metrics() {
  net::HttpReply reply;
  reply.content_type = "text/plain; version=0.0.4; charset=utf-8";
  reply.body = co_await RunBlocking(blocking_, [this] { return MetricsText(); });
  co_return reply;
}

net::HttpReply AdminPages::Dashboard() const {
  net::HttpReply reply;
  reply.content_type = "text/html; charset=utf-8";
  reply.body =
      "<!doctype html><meta charset=utf-8><title>Stoker</title>"
      "<style>body{font:15px system-ui;margin:2em;max-width:60em}table{border-collapse:collapse}"
      "td{padding:.2em 1em .2em 0;font-variant-numeric:tabular-nums}</style>"
      "<h1>Stoker</h1><table id=t></table><script>"
      "const cell=(r,t)=>r.insertCell().textContent=t;"
      "const flat=(o,p='')=>Object.entries(o).flatMap(([k,v])=>v&&typeof v=='object'?"
      "flat(v,p+k+' '):[[p+k,v]]);"
      "const show=async()=>{const s=await (await fetch('/status')).json();"
      "const t=document.createElement('tbody');"
      "for(const [k,v] of flat(s)){const r=t.insertRow();cell(r,k);cell(r,v)}"
      "document.getElementById('t').replaceChildren(t)};"
      "show();setInterval(show,2000)</script>";
  return reply;
}

}  // namespace stoker
