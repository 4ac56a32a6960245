#include "daemon/admin/pages/admin_pages.h"

#include "daemon/admin/reply/query.h"
#include "daemon/admin/reply/replies.h"
#include "daemon/service/waiting/blocking.h"

namespace stoker {
namespace {

Result<std::optional<std::int64_t>> SinceOf(std::string_view text) {
  STOKER_TRY(const Query query, Query::Parse(text, {"since"}));
  if (!query.Has("since")) return std::optional<std::int64_t>();
  STOKER_TRY(const std::int64_t since_s, query.Number("since", 1, kHistoryLongestS));
  return std::optional(since_s);
}

}  // namespace

AdminPages::AdminPages(boost::asio::thread_pool& blocking, Statistics& statistics,
                       const History& history, CacheCounters& cache_counters,
                       CompileService& service, RequestMetrics& request_metrics,
                       std::uint64_t max_cache_bytes, Server server,
                       std::vector<std::string> insecure)
    : blocking_(blocking),
      statistics_(statistics),
      history_(history),
      cache_counters_(cache_counters),
      service_(service),
      request_metrics_(request_metrics),
      max_cache_bytes_(max_cache_bytes),
      server_(std::move(server)),
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
  const std::string_view why = NotReady();
  reply.status = why.empty() ? 200 : 503;
  reply.body = why.empty() ? "ready\n" : std::string(why) + "\n";
  if (reply.status == 503) reply.retry_after_s = 1;
  return reply;
}

std::string_view AdminPages::NotReady() const {
  if (service_.draining()) return "draining";
  return folder_is_gone_ ? "the cache folder is gone" : "";
}

boost::asio::awaitable<net::HttpReply> AdminPages::Status(const std::string& query,
                                                          const Grant& grant) {
  const auto since_s = SinceOf(query);
  if (!since_s.ok()) co_return ReplyOf(since_s.error());
  co_return JsonReply(co_await RunBlocking(blocking_, [&] { return StatusJson(*since_s, grant); }));
}

boost::asio::awaitable<net::HttpReply> AdminPages::Metrics() {
  net::HttpReply reply;
  reply.content_type = "text/plain; version=0.0.4; charset=utf-8";
  reply.body = co_await RunBlocking(blocking_, [this] { return MetricsText(); });
  co_return reply;
}

}  // namespace stoker
