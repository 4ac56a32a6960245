#include "daemon/admin/api/entries_api.h"

#include "daemon/admin/reply/replies.h"
#include "daemon/service/waiting/blocking.h"

namespace stoker {
namespace {

constexpr std::string_view kPrefix = "/v1/entries/";

}  // namespace

boost::asio::awaitable<net::HttpReply> EntriesApi::Handle(const net::HttpRequest& request,
                                                          const Grant& grant) {
  const std::string_view route = std::string_view(request.path).substr(kPrefix.size());
  if (request.method == "POST" && route == "get") {
    const auto query = wire::DecodeEntryQuery(request.body);
    if (!query.ok()) co_return ReplyOf(query.error());
    if (const auto refusal = RefusalOf(grant, Scope::kRead, query->ns)) co_return *refusal;
    const auto entry = co_await RunBlocking(blocking_, [&] { return store_.Get(*query); });
    co_return entry.ok() ? ReplyOf(wire::EncodeStoredEntry(*entry)) : ReplyOf(entry.error());
  }
  if (request.method == "POST" && route == "put") {
    const auto entry = wire::DecodeStoredEntry(request.body);
    if (!entry.ok()) co_return ReplyOf(entry.error());
    if (const auto refusal = RefusalOf(grant, Scope::kAdmin, entry->ns)) co_return *refusal;
    const auto reply = co_await RunBlocking(blocking_, [&] { return store_.Put(*entry); });
    co_return reply.ok() ? ReplyOf(wire::EncodeEntryReply(*reply)) : StorageReplyOf(reply.error());
  }
  co_return ReplyOf(NotFound("No route for " + request.method + " " + request.path + "."));
}

}  // namespace stoker
