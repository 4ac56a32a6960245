#include "daemon/net/http/upload_request.h"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <optional>
#include <utility>

#include "daemon/net/http/reply_text.h"
#include "protocol/wire/header/upload_fields.h"

namespace stoker::net {
namespace {

namespace asio = boost::asio;

// A connection that brings an upload which another one asks for is closed at the next sweep.
constexpr std::chrono::seconds kHandOverPatience{5};
constexpr std::chrono::milliseconds kHandOverPause{5};
constexpr int kRetryAfterSeconds = 1;

HttpReply NoSuchUpload() {
  return ErrorReplyFor(404, NotFound("There is no such upload (any more)."));
}

// What of a PATCH makes no rest of an upload. Only bodies whose length is known are uploaded so.
std::optional<HttpReply> RefusalOfRest(const Incoming& incoming) {
  if (!incoming.upload.is_part) {
    return ErrorReplyFor(415, InvalidArgument("Header 'Content-Type' is not '" +
                                              std::string(wire::kPartialUploadType) + "'."));
  }
  if (incoming.is_chunked) {
    return ErrorReplyFor(411, InvalidArgument("Header 'Content-Length' is missing."));
  }
  if (incoming.upload.complete != true || !incoming.upload.offset) {
    return ErrorReplyFor(400, InvalidArgument("The rest of an upload has headers 'Upload-Offset' "
                                              "and 'Upload-Complete: ?1'."));
  }
  return std::nullopt;
}

HttpReply Progress(const Uploads::Found& found) {
  HttpReply reply;
  reply.status = 204;
  reply.headers = {{std::string(wire::kUploadOffset), std::to_string(found.have)},
                   {std::string(wire::kUploadComplete), "?0"},
                   {std::string(wire::kUploadLength), std::to_string(found.size)},
                   {"Cache-Control", "no-store"}};
  return reply;
}

HttpReply WrongOffset(std::uint64_t offset, const Uploads::Found& found) {
  HttpReply reply = ErrorReplyFor(
      409, FailedPrecondition("Header 'Upload-Offset' is " + std::to_string(offset) +
                              "; the upload has " + std::to_string(found.have) + " bytes."));
  reply.headers = {{std::string(wire::kUploadOffset), std::to_string(found.have)},
                   {std::string(wire::kUploadComplete), "?0"}};
  return reply;
}

HttpReply WrongLength(std::uint64_t length, const Uploads::Found& found) {
  return ErrorReplyFor(400,
                       InvalidArgument("This rest makes an upload of " + std::to_string(length) +
                                       " bytes; it has " + std::to_string(found.size) + "."));
}

// As Uploads::Find, once no other connection brings it.
asio::awaitable<Uploads::Found> FindKept(const HttpRequest& who, Uploads& uploads) {
  asio::steady_timer pause(co_await asio::this_coro::executor);
  const auto end = Uploads::Clock::now() + kHandOverPatience;
  while (true) {
    const Uploads::Found found = uploads.Find(who);
    if (found.state != Uploads::State::kBrought || Uploads::Clock::now() > end) co_return found;
    pause.expires_after(kHandOverPause);
    co_await pause.async_wait(asio::use_awaitable);
  }
}

Continued RestOf(const Incoming& rest, Uploads::Taken taken) {
  Incoming incoming = rest;
  incoming.request = std::move(taken.part.request);
  incoming.request.id = rest.request.id;
  incoming.have = taken.part.have;
  incoming.ends_upload = true;
  return {std::move(incoming), std::move(taken.turn), std::move(taken.part.room)};
}

}  // namespace

bool IsUpload(const Incoming& incoming) {
  const UploadFields& upload = incoming.upload;
  return upload.is_understood && upload.complete == true && incoming.announced_bytes > 0 &&
         upload.length.value_or(incoming.announced_bytes) == incoming.announced_bytes &&
         !incoming.is_http_1_0 &&
         (incoming.request.method == "POST" || incoming.request.method == "PUT");
}

std::string UploadOffer(const Uploads::Turn& turn, std::size_t max_bytes) {
  std::string text = "HTTP/1.1 104 Upload Resumption Supported\r\nLocation: " + turn.path();
  text.append("\r\n").append(wire::kUploadVersion).append(": ");
  text.append(std::to_string(wire::kSpokenUploadVersion));
  text.append("\r\n").append(wire::kUploadLimit).append(": max-size=");
  return text.append(std::to_string(max_bytes)).append("\r\n\r\n");
}

asio::awaitable<std::variant<HttpReply, Continued>> AnswerUpload(const Incoming& incoming,
                                                                 Uploads& uploads) {
  const HttpRequest& request = incoming.request;
  const bool is_rest = request.method == "PATCH";
  if (request.method == "DELETE") {
    if (!uploads.Cancel(request)) co_return NoSuchUpload();
    HttpReply reply;
    reply.status = 204;
    co_return reply;
  }
  if (!is_rest && request.method != "HEAD") {
    HttpReply reply = ErrorReplyFor(405, InvalidArgument("Uploads are asked by HEAD, PATCH and "
                                                         "DELETE."));
    reply.headers = {{"Allow", "HEAD, PATCH, DELETE"}};
    co_return reply;
  }
  if (is_rest) {
    if (auto refusal = RefusalOfRest(incoming)) co_return *std::move(refusal);
  }
  const Uploads::Found found = co_await FindKept(request, uploads);
  switch (found.state) {
    case Uploads::State::kNone:
      co_return NoSuchUpload();
    case Uploads::State::kBrought:
      co_return ErrorReplyFor(503, Unavailable("Another connection brings this upload."),
                              kRetryAfterSeconds);
    case Uploads::State::kKept:
      break;
  }
  if (!is_rest) co_return Progress(found);
  const std::uint64_t offset = *incoming.upload.offset;
  if (offset != found.have) co_return WrongOffset(offset, found);
  const std::uint64_t length = offset + incoming.announced_bytes;
  if (length != found.size || incoming.upload.length.value_or(length) != length) {
    co_return WrongLength(length, found);
  }
  auto taken = uploads.Take(request);
  if (!taken) co_return NoSuchUpload();
  co_return RestOf(incoming, *std::move(taken));
}

}  // namespace stoker::net
