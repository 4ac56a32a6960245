#include "daemon/admin/api/captures_api.h"

#include <boost/json.hpp>
#include <chrono>

#include "daemon/admin/reply/replies.h"
#include "daemon/service/waiting/blocking.h"

namespace stoker {
namespace {

namespace json = boost::json;

constexpr std::string_view kPrefix = "/v1/captures/";

// Why the sender may not do that in this namespace, if so.
std::optional<net::HttpReply> CaptureRefusalOf(const Grant& grant, Scope scope,
                                               const std::string& ns) {
  if (ns == kKernelNamespace || ns == kBazelNamespace) {
    return ReplyOf(InvalidArgument("Field 'capture.namespace' is '" + ns +
                                   "', which the daemon keeps for itself."));
  }
  return RefusalOf(grant, scope, ns);
}

}  // namespace

bool CapturesApi::Owns(std::string_view path) { return path.starts_with(kPrefix); }

boost::asio::awaitable<net::HttpReply> CapturesApi::Handle(const net::HttpRequest& request,
                                                           const Grant& grant) {
  const std::string_view route = std::string_view(request.path).substr(kPrefix.size());
  if (request.method == "GET" && route == "notes") co_return Notes(grant);
  if (request.method == "POST" && route == "note") {
    const auto note = wire::DecodeCaptureNote(request.body);
    if (!note.ok()) co_return ReplyOf(note.error());
    if (const auto refusal = CaptureRefusalOf(grant, Scope::kRead, note->ns)) co_return *refusal;
    co_return Take(*note);
  }
  if (request.method == "POST" && route == "find") {
    const auto query = wire::DecodeCaptureQuery(request.body);
    if (!query.ok()) co_return ReplyOf(query.error());
    if (const auto refusal = CaptureRefusalOf(grant, Scope::kRead, query->ns)) co_return *refusal;
    co_return co_await RunBlocking(blocking_, [&] { return Find(*query); });
  }
  if (request.method == "POST" && route == "put") {
    const auto put = wire::DecodeCapturePut(request.body);
    if (!put.ok()) co_return ReplyOf(put.error());
    if (const auto refusal = CaptureRefusalOf(grant, Scope::kWrite, put->key.ns))
      co_return *refusal;
    const Status stored = co_await RunBlocking(blocking_, [&] { return store_.Put(*put); });
    co_return stored.ok() ? NoContent() : StorageReplyOf(stored.error());
  }
  if (request.method == "POST" && route == "drop") {
    const auto drop = wire::DecodeCaptureDrop(request.body);
    if (!drop.ok()) co_return ReplyOf(drop.error());
    if (const auto refusal = CaptureRefusalOf(grant, Scope::kWrite, drop->ns)) co_return *refusal;
    const Status dropped = co_await RunBlocking(blocking_, [&] { return store_.Drop(*drop); });
    co_return dropped.ok() ? NoContent() : ReplyOf(dropped.error());
  }
  co_return ReplyOf(NotFound("No route for " + request.method + " " + request.path + "."));
}

net::HttpReply CapturesApi::Find(const wire::CaptureQuery& query) {
  const auto found = store_.Find(query);
  if (found.ok()) return ReplyOf(wire::EncodeCaptureList(*found));
  if (found.error().code != ErrorCode::kNotFound && found.error().code != ErrorCode::kDataLoss) {
    return ReplyOf(found.error());
  }
  wire::Miss miss;
  if (found.error().code == ErrorCode::kDataLoss) {
    miss.reason = found.error().message;
  } else {
    miss = store_.ExplainMiss(query);
  }
  net::HttpReply reply = ReplyOf(wire::EncodeMiss(miss));
  reply.status = 404;
  return reply;
}

net::HttpReply CapturesApi::Take(const wire::CaptureNote& note) {
  if (note.outcome == "hit") {
    statistics_.Add("captures.hits");
    statistics_.Add("kind.capture.hits");
  } else if (note.outcome == "miss") {
    statistics_.Add("captures.misses");
    statistics_.Add("kind.capture.misses");
    statistics_.AddLabelled("captures.misses.reason.", note.reason);
  } else if (note.outcome == "local" || note.outcome == "failed") {
    statistics_.Add("captures." + note.outcome);
    statistics_.AddLabelled("captures." + note.outcome + ".reason.", note.reason);
  } else {
    statistics_.Add("captures." + note.outcome);
  }
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const std::lock_guard lock(mutex_);
  notes_.push_front({now, note});
  if (notes_.size() > kMaxNotes) notes_.pop_back();
  return NoContent();
}

net::HttpReply CapturesApi::Notes(const Grant& grant) {
  json::array notes;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [unix_s, note] : notes_) {
      if (!grant.Allows(Scope::kRead, note.ns)) continue;
      notes.push_back({{"unix_s", unix_s},
                       {"namespace", note.ns},
                       {"entry", note.entry},
                       {"outcome", note.outcome},
                       {"reason", note.reason},
                       {"detail", note.detail}});
    }
  }
  return JsonReply(json::serialize(notes));
}

}  // namespace stoker
