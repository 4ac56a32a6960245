#include "daemon/admin/admin_pages.h"

#include "daemon/service/blocking.h"

namespace stoker {

AdminPages::AdminPages(boost::asio::thread_pool& blocking, Statistics& statistics,
                       CacheCounters& cache_counters, CompileService& service,
                       RequestMetrics& request_metrics, std::uint64_t max_cache_bytes,
                       std::vector<std::string> insecure)
    : blocking_(blocking),
      statistics_(statistics),
      cache_counters_(cache_counters),
      service_(service),
      request_metrics_(request_metrics),
      max_cache_bytes_(max_cache_bytes),
      insecure_(std::move(insecure)) {}

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

boost::asio::awaitable<net::HttpReply> AdminPages::Status() {
  net::HttpReply reply;
  reply.content_type = "application/json";
  reply.body = co_await RunBlocking(blocking_, [this] { return StatusJson(); });
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
