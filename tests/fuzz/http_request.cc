// Requests as peers send them: whatever comes is a request or a refusal, and how the bytes are cut
// on their way makes no difference to the requests, or two servers behind one another would see
// other ones. (What is no request may be refused sooner or later, and for another fault of it.)
#include <algorithm>
#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <variant>

#include "daemon/net/http/reply_text.h"
#include "daemon/net/http/request_reader.h"
#include "daemon/net/http/upload_request.h"
#include "protocol/base/check.h"
#include "tests/fuzz/fuzz_target.h"

namespace stoker::fuzz {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kStoredBytes = 100;  // Of what ranges are asked of.
constexpr std::size_t kPieceSizes = 7;

// A peer that sends these bytes, at most `piece` at a time, and takes whatever it is sent.
class Sent : public net::Stream {
 public:
  Sent(std::string_view bytes, std::size_t piece) : bytes_(bytes), piece_(piece) {}

  asio::awaitable<net::Opening> Open() override { co_return net::Opening::kOpen; }
  asio::awaitable<net::IoResult> ReadSome(std::span<char> into) override {
    const std::size_t count = std::min({piece_, into.size(), bytes_.size()});
    if (count == 0) co_return net::IoResult{asio::error::eof, 0};
    std::copy_n(bytes_.begin(), count, into.begin());
    bytes_.remove_prefix(count);
    co_return net::IoResult{{}, count};
  }
  asio::awaitable<net::IoResult> WriteSome(std::string_view head, std::string_view body) override {
    co_return net::IoResult{{}, head.size() + body.size()};
  }
  asio::awaitable<void> EndSending() override { co_return; }
  void Close() override {}

 private:
  std::string_view bytes_;
  const std::size_t piece_;
};

// What it says of an upload that goes on elsewhere.
std::string UploadOf(const net::Incoming& incoming) {
  const net::UploadFields& upload = incoming.upload;
  STOKER_CHECK(!net::IsUpload(incoming) || incoming.have == incoming.request.body.size());
  const auto text = [](const auto& value) {
    return value ? std::to_string(static_cast<std::uint64_t>(*value)) : std::string("none");
  };
  return std::string(upload.is_understood ? " understood" : "") + (upload.is_part ? " rest" : "") +
         " complete " + text(upload.complete) + " offset " + text(upload.offset) + " length " +
         text(upload.length);
}

std::string TextOf(const net::Incoming& incoming) {
  const net::HttpRequest& request = incoming.request;
  net::HttpReply whole;
  whole.body = std::string(kStoredBytes, 'x');
  const net::HttpReply part = net::PartOf(std::move(whole), incoming.range);
  STOKER_CHECK(part.status == 416 || part.body.bytes().size() == kStoredBytes ||
               (part.status == 206 && part.body.bytes().size() < kStoredBytes));
  return request.method + " " + request.path + "?" + request.query + " host " + request.host +
         " as " + request.authorization.value_or("nobody") + " from " +
         request.origin.value_or("nowhere") + (incoming.keep_alive ? " keep" : " close") +
         " part " + std::to_string(part.status) + UploadOf(incoming) + ": " + request.body;
}

asio::awaitable<void> ReadAll(net::RequestReader& reader, const net::ServerLimits& limits,
                              std::vector<std::string>& seen) {
  std::atomic<std::size_t> total = 0;
  while (co_await reader.Wait()) {
    net::ReadOutcome outcome = co_await reader.ReadHead();
    auto* incoming = std::get_if<net::Incoming>(&outcome);
    if (incoming == nullptr) {
      co_return;
    }
    net::Room room(total, limits.max_bodies_bytes);
    const auto ended = co_await reader.ReadBody(incoming, limits.max_body_bytes, room);
    STOKER_CHECK(incoming->have <= incoming->request.body.size());  // What may be kept.
    if (ended) co_return;
    STOKER_CHECK(incoming->request.body.size() <= limits.max_body_bytes);
    seen.push_back(TextOf(*incoming));
    if (!incoming->keep_alive) co_return;
  }
}

std::vector<std::string> Read(std::string_view bytes, std::size_t piece) {
  net::ServerLimits limits;
  limits.max_header_bytes = 1024;
  limits.max_body_bytes = 512;
  limits.max_bodies_bytes = 1 << 20;
  net::TimedStream stream(std::make_unique<Sent>(bytes, piece));
  net::RequestReader reader(stream, limits);
  std::vector<std::string> seen;
  asio::io_context io(1);
  asio::co_spawn(io, ReadAll(reader, limits, seen), [](const std::exception_ptr& thrown) {
    if (thrown) std::rethrow_exception(thrown);
  });
  io.run();
  return seen;
}

}  // namespace

std::vector<std::string> Seeds() {
  return {
      "GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n",
      "GET /cas/ab?x=y HTTP/1.1\r\nHost: a\r\nRange: bytes=1-2\r\nOrigin: http://a\r\n\r\n"
      "HEAD / HTTP/1.1\r\nHost: a\r\nRange: bytes=-5\r\nX-Request-Id: id-1\r\n\r\n",
      "POST /v1/lookup HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nAuthorization: Bearer t\r\n\r\n"
      "hello"
      "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
      "PUT /cas/ab HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nExpect: "
      "100-continue\r\n\r\n"
      "5;name=value\r\nhello\r\n0\r\nTrailer: x\r\n\r\n",
      "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET / HTTP/1.0\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc",
      "PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nUpload-Complete: ?1\r\n"
      "Upload-Draft-Interop-Version: 8\r\nUpload-Length: 3\r\n\r\nabc",
      "PATCH /uploads/x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nUpload-Complete: ?1;x\r\n"
      "Upload-Offset: 5\r\nContent-Type: application/partial-upload\r\n\r\nabc"};
}

void TryInput(std::string_view bytes) {
  // One cut for each input: several would take most of the time.
  const std::size_t piece = 1 + bytes.size() % kPieceSizes;
  STOKER_CHECK(Read(bytes, piece) == Read(bytes, bytes.size() + 1));
}

}  // namespace stoker::fuzz
