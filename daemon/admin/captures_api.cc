#include "daemon/admin/captures_api.h"

#include <boost/json.hpp>
#include <chrono>

#include "daemon/service/blocking.h"

namespace stoker {
namespace {

namespace json = boost::json;

constexpr std::string_view kPrefix = "/v1/captures/";

Result<net::HttpReply> NoContent(const Status& status) {
  if (!status.ok()) return status.error();
  net::HttpReply reply;
  reply.status = 204;
  return reply;
}

Status CheckNamespace(const std::string& ns) {
  if (ns != kKernelNamespace && ns != kBazelNamespace) return Ok();
  return InvalidArgument("Field 'capture.namespace' is '" + ns +
                         "', which the daemon keeps for itself.");
}

}  // namespace

bool CapturesApi::Owns(std::string_view path) { return path.starts_with(kPrefix); }

boost::asio::awaitable<Result<net::HttpReply>> CapturesApi::Handle(
    const net::HttpRequest& request) {
  const std::string_view route = std::string_view(request.path).substr(kPrefix.size());
  if (request.method == "GET" && route == "notes") co_return Notes();
  if (request.method != "POST") co_return NotFound("No route for " + request.path + ".");
  if (route == "note") {
    auto note = wire::DecodeCaptureNote(request.body);
    if (!note.ok()) co_return note.error();
    co_return Take(*note);
  }
  co_return co_await RunBlocking(blocking_, [&]() -> Result<net::HttpReply> {
    if (route == "find") return Find(request.body);
    if (route == "put") {
      STOKER_TRY(const wire::CapturePut put, wire::DecodeCapturePut(request.body));
      STOKER_RETURN_IF_ERROR(CheckNamespace(put.key.ns));
      return NoContent(store_.Put(put));
    }
    if (route == "drop") {
      STOKER_TRY(const wire::CaptureDrop drop, wire::DecodeCaptureDrop(request.body));
      STOKER_RETURN_IF_ERROR(CheckNamespace(drop.ns));
      return NoContent(store_.Drop(drop));
    }
    return NotFound("No route for " + request.method + " " + request.path + ".");
  });
}

Result<net::HttpReply> CapturesApi::Find(const std::string& body) {
  STOKER_TRY(const wire::CaptureQuery query, wire::DecodeCaptureQuery(body));
  STOKER_RETURN_IF_ERROR(CheckNamespace(query.ns));
  net::HttpReply reply;
  const auto found = store_.Find(query);
  if (found.ok()) {
    reply.body = wire::EncodeCaptureList(*found);
    return reply;
  }
  if (found.error().code != ErrorCode::kNotFound && found.error().code != ErrorCode::kDataLoss) {
    return found.error();
  }
  wire::Miss miss;
  miss.reason = found.error().code == ErrorCode::kDataLoss ? found.error().message
                                                           : store_.ExplainMiss(query).text;
  reply.status = 404;
  reply.body = wire::EncodeMiss(miss);
  return reply;
}

Result<net::HttpReply> CapturesApi::Take(const wire::CaptureNote& note) {
  if (note.outcome == "hit") {
    statistics_.Add("captures.hits");
    statistics_.Add("kind.capture.hits");
  } else if (note.outcome == "miss") {
    statistics_.Add("captures.misses");
    statistics_.Add("kind.capture.misses");
    statistics_.Add("captures.misses.reason." + note.reason);
  } else if (note.outcome == "local" || note.outcome == "failed") {
    statistics_.Add("captures." + note.outcome);
    statistics_.Add("captures." + note.outcome + ".reason." + note.reason);
  } else {
    statistics_.Add("captures." + note.outcome);
  }
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const std::lock_guard lock(mutex_);
  notes_.push_front({now, note});
  if (notes_.size() > kMaxNotes) notes_.pop_back();
  return NoContent(Ok());
}

net::HttpReply CapturesApi::Notes() {
  json::array notes;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [unix_s, note] : notes_) {
      notes.push_back({{"unix_s", unix_s},
                       {"namespace", note.ns},
                       {"entry", note.entry},
                       {"outcome", note.outcome},
                       {"reason", note.reason},
                       {"detail", note.detail}});
    }
  }
  net::HttpReply reply;
  reply.content_type = "application/json";
  reply.body = json::serialize(notes);
  return reply;
}

}  // namespace stoker
