#include "daemon/net/connection.h"

#include <sys/socket.h>

#include <array>
#include <boost/asio/experimental/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http.hpp>
#include <utility>

#include "protocol/wire/messages.h"

namespace stoker::net {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
constexpr auto kAwait = asio::experimental::as_tuple(asio::use_awaitable);

constexpr int kBodyRetryAfterSeconds = 1;
constexpr std::size_t kReadBytes = 4096;

// With or without a port.
bool IsNameOfThisHost(const std::string& host) {
  if (host.empty() || host == "::1") return true;
  const std::string name = host.substr(0, host.find(':', host.find(']') + 1));
  return name == "localhost" || name == "127.0.0.1" || name == "[::1]";
}

// A page of another site that a browser on this host shows must not command the daemon, nor read
// from it under a name of that site which leads to this host. Nobody else sends such headers.
std::optional<Error> RefusalOfForeignPage(const http::request<http::string_body>& message,
                                          bool over_tcp) {
  const std::string host(message[http::field::host]);
  if (over_tcp && !IsNameOfThisHost(host)) {
    return FailedPrecondition("Header 'Host' is '" + host +
                              "'; this daemon is localhost, 127.0.0.1 or [::1].");
  }
  const auto origin = message.find(http::field::origin);
  if (origin == message.end() || origin->value() == "http://" + host) return std::nullopt;
  return FailedPrecondition("Header 'Origin' names another site: " + std::string(origin->value()) +
                            ".");
}

HttpReply ErrorReplyFor(int status, const Error& error, int retry_after_s = 0) {
  HttpReply reply;
  reply.status = status;
  reply.body = wire::EncodeErrorReply(wire::ErrorReplyOf(error));
  reply.retry_after_s = retry_after_s;
  return reply;
}

HttpReply NoRoomForBody(const ServerLimits& limits) {
  return ErrorReplyFor(503,
                       Unavailable("The bodies of the requests under way exceed the limit of " +
                                   std::to_string(limits.max_bodies_bytes) + " bytes."),
                       kBodyRetryAfterSeconds);
}

// What a request that cannot be read is told; nothing when the peer is gone or too slow.
std::optional<HttpReply> RefusalOf(const error_code& code, const ServerLimits& limits) {
  if (code == http::error::body_limit) {
    return ErrorReplyFor(413, ResourceExhausted("The body exceeds the limit of " +
                                                std::to_string(limits.max_body_bytes) + " bytes."));
  }
  if (code == http::error::header_limit || code == http::error::buffer_overflow) {
    return ErrorReplyFor(431,
                         ResourceExhausted("The header exceeds the limit of " +
                                           std::to_string(limits.max_header_bytes) + " bytes."));
  }
  if (code.category() != http::make_error_code(http::error::bad_method).category() ||
      code == http::error::end_of_stream || code == http::error::partial_message) {
    return std::nullopt;
  }
  return ErrorReplyFor(400, InvalidArgument("This is no HTTP request: " + code.message() + "."));
}

// A request's share of the memory for bodies.
class BodyRoom {
 public:
  static std::optional<BodyRoom> Take(std::atomic<std::size_t>& total, const ServerLimits& limits,
                                      std::uint64_t bytes) {
    if (total.fetch_add(bytes) + bytes <= limits.max_bodies_bytes) return BodyRoom(total, bytes);
    total.fetch_sub(bytes);
    return std::nullopt;
  }
  ~BodyRoom() {
    if (total_ != nullptr) total_->fetch_sub(bytes_);
  }
  BodyRoom(BodyRoom&& other) noexcept
      : total_(std::exchange(other.total_, nullptr)), bytes_(other.bytes_) {}
  BodyRoom& operator=(BodyRoom&& other) noexcept {
    std::swap(total_, other.total_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

 private:
  BodyRoom(std::atomic<std::size_t>& total, std::uint64_t bytes) : total_(&total), bytes_(bytes) {}

  std::atomic<std::size_t>* total_;
  std::uint64_t bytes_;
};

// What a connection in a request counts.
class InRequest {
 public:
  InRequest(std::atomic<bool>& flag, std::atomic<std::size_t>& count) : flag_(flag), count_(count) {
    flag_ = true;
    count_.fetch_add(1);
  }
  ~InRequest() {
    flag_ = false;
    count_.fetch_sub(1);
  }
  InRequest(const InRequest&) = delete;
  InRequest& operator=(const InRequest&) = delete;

 private:
  std::atomic<bool>& flag_;
  std::atomic<std::size_t>& count_;
};

class ChunkedStream : public HttpStream {
 public:
  ChunkedStream(ByteStream& stream, std::chrono::milliseconds timeout)
      : stream_(stream), timeout_(timeout) {}

  asio::awaitable<Status> Send(std::string_view piece) override {
    if (failed_) co_return Unavailable("The client is gone.");
    error_code code;
    if (!started_) {
      started_ = true;
      http::response<http::empty_body> head(http::status::ok, 11);
      head.set(http::field::content_type, "application/x-protobuf");
      head.chunked(true);
      http::response_serializer<http::empty_body> serializer(head);
      stream_.expires_after(timeout_);
      std::tie(code, std::ignore) = co_await http::async_write_header(stream_, serializer, kAwait);
    }
    if (!code && !piece.empty()) {
      stream_.expires_after(timeout_);
      std::tie(code, std::ignore) = co_await asio::async_write(
          stream_, http::make_chunk(asio::buffer(piece.data(), piece.size())), kAwait);
    }
    failed_ = static_cast<bool>(code);
    if (failed_) co_return Unavailable("Sending to the client fails: " + code.message() + ".");
    co_return Ok();
  }

  bool started() const { return started_; }

  asio::awaitable<bool> Finish() {
    if (failed_) co_return false;
    stream_.expires_after(timeout_);
    const auto [code, size] = co_await asio::async_write(stream_, http::make_chunk_last(), kAwait);
    co_return !code;
  }

 private:
  ByteStream& stream_;
  const std::chrono::milliseconds timeout_;
  bool started_ = false;
  bool failed_ = false;
};

}  // namespace

Connection::Connection(StreamSocket socket, HttpHandler& handler, const ServerLimits& limits,
                       ServerLoad& load)
    : stream_(std::move(socket)), handler_(handler), limits_(limits), load_(load) {}

asio::awaitable<void> Connection::Serve() {
  bool again = true;
  while (again && !load_.stopping) again = co_await ServeOne();
}

void Connection::CloseIfIdle() {
  asio::post(stream_.get_executor(), [self = shared_from_this()] {
    if (!self->in_request_) self->stream_.cancel();
  });
}

void Connection::Close() {
  error_code ignored;
  stream_.socket().shutdown(asio::socket_base::shutdown_both, ignored);
  stream_.close();
}

bool Connection::IsOverTcp() {
  error_code ignored;
  return stream_.socket().local_endpoint(ignored).protocol().family() != AF_UNIX;
}

asio::awaitable<bool> Connection::Reply(HttpReply reply, bool keep_alive, bool head_only) {
  http::response<http::string_body> response(static_cast<http::status>(reply.status), 11);
  response.set(http::field::content_type, reply.content_type);
  response.set(http::field::server, "stokerd");
  if (reply.retry_after_s > 0) {
    response.set(http::field::retry_after, std::to_string(reply.retry_after_s));
  }
  response.keep_alive(keep_alive);
  response.body() = std::move(reply.body);
  response.prepare_payload();
  stream_.expires_after(limits_.transfer_timeout);
  error_code code;
  if (head_only) {
    http::response_serializer<http::string_body> serializer(response);
    std::tie(code, std::ignore) = co_await http::async_write_header(stream_, serializer, kAwait);
  } else {
    std::tie(code, std::ignore) = co_await http::async_write(stream_, response, kAwait);
  }
  co_return !code && keep_alive;
}

asio::awaitable<bool> Connection::ServeOne() {
  if (buffer_.size() == 0) {
    // Between requests a connection may be idle for long; within a header it may not.
    stream_.expires_after(limits_.idle_timeout);
    const auto [wait_code, wait_size] =
        co_await stream_.async_read_some(buffer_.prepare(kReadBytes), kAwait);
    if (wait_code) co_return false;
    buffer_.commit(wait_size);
  }
  const InRequest in_request(in_request_, load_.active_requests);
  Parser parser;
  parser.header_limit(static_cast<std::uint32_t>(limits_.max_header_bytes));
  parser.body_limit(limits_.max_body_bytes);
  std::optional<BodyRoom> room;  // Held until the request is answered.
  std::optional<HttpReply> refusal;

  stream_.expires_after(limits_.header_timeout);
  error_code code;
  std::tie(code, std::ignore) = co_await http::async_read_header(stream_, buffer_, parser, kAwait);
  if (!code) {
    const std::uint64_t announced = parser.content_length().value_or(
        parser.chunked() ? limits_.max_body_bytes : std::size_t{0});
    if (announced > limits_.max_body_bytes) {
      code = http::error::body_limit;
    } else if (room = BodyRoom::Take(load_.bodies_bytes, limits_, announced); !room) {
      refusal = NoRoomForBody(limits_);
    }
  }
  if (!code && !refusal) code = co_await ReadBody(parser);
  if (!code && !refusal) co_return co_await Answer(parser.release());
  if (!refusal) refusal = RefusalOf(code, limits_);
  if (!refusal) co_return false;
  co_await Reply(*std::move(refusal), /*keep_alive=*/false);
  co_await Linger();
  co_return false;
}

asio::awaitable<error_code> Connection::ReadBody(Parser& parser) {
  stream_.expires_after(limits_.transfer_timeout);
  error_code code;
  if (beast::iequals(parser.get()[http::field::expect], "100-continue")) {
    http::response<http::empty_body> go_on(http::status::continue_, 11);
    std::tie(code, std::ignore) = co_await http::async_write(stream_, go_on, kAwait);
  }
  if (!code) {
    std::tie(code, std::ignore) = co_await http::async_read(stream_, buffer_, parser, kAwait);
  }
  co_return code;
}

// Closing a connection that has unread bytes resets it, and the peer, which may still be sending,
// never reads the refusal. Reads on for a moment.
asio::awaitable<void> Connection::Linger() {
  error_code code;
  stream_.socket().shutdown(asio::socket_base::shutdown_send, code);
  stream_.expires_after(limits_.linger_timeout);
  std::array<char, kReadBytes> discarded;
  while (!code) {
    std::tie(code, std::ignore) = co_await stream_.async_read_some(asio::buffer(discarded), kAwait);
  }
}

asio::awaitable<bool> Connection::Answer(Request message) {
  const bool client_stays = message.keep_alive();
  if (const auto refusal = RefusalOfForeignPage(message, IsOverTcp())) {
    co_return co_await Reply(ErrorReplyFor(403, *refusal), client_stays && !load_.stopping);
  }
  HttpRequest request;
  request.method = std::string(message.method_string());
  const std::string target(message.target());
  const std::size_t question = target.find('?');
  request.path = target.substr(0, question);
  if (question != std::string::npos) request.query = target.substr(question + 1);
  request.body = std::move(message.body());

  const bool is_head = request.method == "HEAD";
  ChunkedStream chunks(stream_, limits_.transfer_timeout);
  std::optional<HttpReply> reply;
  std::optional<Error> thrown;
  try {
    reply = co_await handler_.Handle(std::move(request), chunks);
  } catch (const std::exception& e) {
    thrown = Internal(std::string("Unexpected exception: ") + e.what());
  }
  if (thrown) {
    if (chunks.started()) co_return false;
    reply = ErrorReplyFor(500, *thrown);
  }
  const bool keep_alive = client_stays && !load_.stopping;  // Stopping may have begun meanwhile.
  if (!reply) co_return co_await chunks.Finish() && keep_alive;
  co_return co_await Reply(*std::move(reply), keep_alive, is_head);
}

}  // namespace stoker::net
