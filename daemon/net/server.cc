// Connections of every transport are generic stream sockets, so that Beast is instantiated once.
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/as_tuple.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <list>
#include <mutex>

#include "daemon/net/listener.h"
#include "daemon/net/socket_claim.h"
#include "protocol/wire/messages.h"

namespace stoker::net {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
using ByteStream = beast::basic_stream<asio::generic::stream_protocol, asio::any_io_executor>;
constexpr auto kAwait = asio::experimental::as_tuple(asio::use_awaitable);

// After accepting failed, for want of descriptors as a rule.
constexpr std::chrono::milliseconds kAcceptPause{50};
constexpr int kBodyRetryAfterSeconds = 1;
constexpr std::size_t kReadBytes = 4096;
// How long a refused peer may go on sending before its connection is closed.
constexpr std::chrono::milliseconds kLingerTime{1000};
// Sent to a connection beyond the limit; fits into any socket's buffer.
constexpr std::string_view kTooManyConnections =
    "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n"
    "Connection: close\r\n\r\n";

// A page of another site that a browser on this host shows must not command the daemon, nor read
// from it under a name of that site which leads to this host. Nobody else sends such headers.
std::optional<Error> RefusalOfForeignPage(const http::request<http::string_body>& message,
                                          bool over_tcp) {
  const std::string host(message[http::field::host]);
  const std::string name = host.substr(0, host.find(':', host.find(']') + 1));
  if (over_tcp && !host.empty() && name != "localhost" && name != "127.0.0.1" && name != "[::1]") {
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

struct Server::State : std::enable_shared_from_this<Server::State> {
  State(asio::any_io_executor e, HttpHandler& h, ServerLimits l)
      : executor(std::move(e)), handler(h), limits(l) {}

  template <typename Protocol>
  asio::awaitable<void> Accept(
      std::shared_ptr<asio::basic_socket_acceptor<Protocol, asio::any_io_executor>> acceptor);
  asio::awaitable<void> Serve(std::shared_ptr<ByteStream> stream);
  struct Open;
  asio::awaitable<error_code> ReadBody(ByteStream& stream, beast::flat_buffer& buffer,
                                       http::request_parser<http::string_body>& parser);
  asio::awaitable<void> Linger(ByteStream& stream);
  // The others: false when the connection is to be closed.
  asio::awaitable<bool> ServeOne(Open& connection, beast::flat_buffer& buffer);
  asio::awaitable<bool> Answer(ByteStream& stream, http::request<http::string_body> message);
  asio::awaitable<bool> Reply(ByteStream& stream, HttpReply reply, bool keep_alive,
                              bool head_only = false);

  asio::any_io_executor executor;
  HttpHandler& handler;
  const ServerLimits limits;
  std::atomic<bool> stopping{false};
  std::atomic<std::size_t> connections{0};
  std::atomic<std::size_t> active{0};
  std::atomic<std::size_t> bodies_bytes{0};
  std::mutex mutex;  // Guards what follows.
  std::vector<std::function<void()>> close_acceptors;
  std::vector<std::unique_ptr<SocketClaim>> claims;
  // Open connections, so that idle ones can be closed when accepting stops. Shared with their
  // coroutines, which may end between that decision and the closing.
  std::list<std::shared_ptr<Open>> open;
};

struct Server::State::Open {
  explicit Open(std::shared_ptr<ByteStream> s) : stream(std::move(s)) {}
  const std::shared_ptr<ByteStream> stream;
  std::atomic<bool> in_request{false};
};

asio::awaitable<bool> Server::State::Reply(ByteStream& stream, HttpReply reply, bool keep_alive,
                                           bool head_only) {
  http::response<http::string_body> response(static_cast<http::status>(reply.status), 11);
  response.set(http::field::content_type, reply.content_type);
  response.set(http::field::server, "stokerd");
  if (reply.retry_after_s > 0) {
    response.set(http::field::retry_after, std::to_string(reply.retry_after_s));
  }
  response.keep_alive(keep_alive);
  response.body() = std::move(reply.body);
  response.prepare_payload();
  stream.expires_after(limits.transfer_timeout);
  error_code code;
  if (head_only) {
    http::response_serializer<http::string_body> serializer(response);
    std::tie(code, std::ignore) = co_await http::async_write_header(stream, serializer, kAwait);
  } else {
    std::tie(code, std::ignore) = co_await http::async_write(stream, response, kAwait);
  }
  co_return !code && keep_alive;
}

asio::awaitable<bool> Server::State::ServeOne(Open& connection, beast::flat_buffer& buffer) {
  ByteStream& stream = *connection.stream;
  if (buffer.size() == 0) {
    // Between requests a connection may be idle for long; within a header it may not.
    stream.expires_after(limits.idle_timeout);
    const auto [wait_code, wait_size] =
        co_await stream.async_read_some(buffer.prepare(kReadBytes), kAwait);
    if (wait_code) co_return false;
    buffer.commit(wait_size);
  }
  const InRequest in_request(connection.in_request, active);
  http::request_parser<http::string_body> parser;
  parser.header_limit(static_cast<std::uint32_t>(limits.max_header_bytes));
  parser.body_limit(limits.max_body_bytes);
  std::optional<BodyRoom> room;  // Held until the request is answered.
  std::optional<HttpReply> refusal;

  stream.expires_after(limits.header_timeout);
  error_code code;
  std::tie(code, std::ignore) = co_await http::async_read_header(stream, buffer, parser, kAwait);
  if (!code) {
    const std::uint64_t announced =
        parser.content_length().value_or(parser.chunked() ? limits.max_body_bytes : std::size_t{0});
    if (announced > limits.max_body_bytes) {
      code = http::error::body_limit;
    } else if (room = BodyRoom::Take(bodies_bytes, limits, announced); !room) {
      refusal = NoRoomForBody(limits);
    }
  }
  if (!code && !refusal) code = co_await ReadBody(stream, buffer, parser);
  if (!code && !refusal) co_return co_await Answer(stream, parser.release());
  if (!refusal) refusal = RefusalOf(code, limits);
  if (!refusal) co_return false;
  co_await Reply(stream, *std::move(refusal), /*keep_alive=*/false);
  co_await Linger(stream);
  co_return false;
}

asio::awaitable<error_code> Server::State::ReadBody(
    ByteStream& stream, beast::flat_buffer& buffer,
    http::request_parser<http::string_body>& parser) {
  stream.expires_after(limits.transfer_timeout);
  error_code code;
  if (beast::iequals(parser.get()[http::field::expect], "100-continue")) {
    http::response<http::empty_body> go_on(http::status::continue_, 11);
    std::tie(code, std::ignore) = co_await http::async_write(stream, go_on, kAwait);
  }
  if (!code) {
    std::tie(code, std::ignore) = co_await http::async_read(stream, buffer, parser, kAwait);
  }
  co_return code;
}

// Closing a connection that has unread bytes resets it, and the peer, which may still be sending,
// never reads the refusal. Reads on for a moment.
asio::awaitable<void> Server::State::Linger(ByteStream& stream) {
  error_code code;
  stream.socket().shutdown(asio::socket_base::shutdown_send, code);
  stream.expires_after(kLingerTime);
  std::array<char, kReadBytes> discarded;
  while (!code) {
    std::tie(code, std::ignore) = co_await stream.async_read_some(asio::buffer(discarded), kAwait);
  }
}

asio::awaitable<bool> Server::State::Answer(ByteStream& stream,
                                            http::request<http::string_body> message) {
  const bool client_stays = message.keep_alive();
  error_code ignored;
  const bool over_tcp = stream.socket().local_endpoint(ignored).protocol().family() != AF_UNIX;
  if (const auto refusal = RefusalOfForeignPage(message, over_tcp)) {
    co_return co_await Reply(stream, ErrorReplyFor(403, *refusal), client_stays && !stopping);
  }
  HttpRequest request;
  request.method = std::string(message.method_string());
  const std::string target(message.target());
  const std::size_t question = target.find('?');
  request.path = target.substr(0, question);
  if (question != std::string::npos) request.query = target.substr(question + 1);
  request.body = std::move(message.body());

  const bool is_head = request.method == "HEAD";
  ChunkedStream chunks(stream, limits.transfer_timeout);
  std::optional<HttpReply> reply;
  std::optional<Error> thrown;
  try {
    reply = co_await handler.Handle(std::move(request), chunks);
  } catch (const std::exception& e) {
    thrown = Internal(std::string("Unexpected exception: ") + e.what());
  }
  if (thrown) {
    if (chunks.started()) co_return false;
    reply = ErrorReplyFor(500, *thrown);
  }
  const bool keep_alive = client_stays && !stopping;  // Stopping may have begun meanwhile.
  if (!reply) co_return co_await chunks.Finish() && keep_alive;
  co_return co_await Reply(stream, *std::move(reply), keep_alive, is_head);
}

asio::awaitable<void> Server::State::Serve(std::shared_ptr<ByteStream> stream) {
  const auto connection = std::make_shared<Open>(std::move(stream));
  {
    const std::lock_guard lock(mutex);
    open.push_back(connection);
  }
  // Also when an exception passes, for which memory would have to run out here.
  struct Leave {
    State& state;
    const std::shared_ptr<Open>& connection;
    ~Leave() {
      error_code ignored;
      connection->stream->socket().shutdown(asio::socket_base::shutdown_both, ignored);
      connection->stream->close();
      const std::lock_guard lock(state.mutex);
      state.open.remove(connection);
      state.connections.fetch_sub(1);
    }
  } leave{*this, connection};
  beast::flat_buffer buffer;
  bool again = true;
  while (again && !stopping) again = co_await ServeOne(*connection, buffer);
}

template <typename Protocol>
asio::awaitable<void> Server::State::Accept(
    std::shared_ptr<asio::basic_socket_acceptor<Protocol, asio::any_io_executor>> acceptor) {
  while (!stopping) {
    auto [code, socket] = co_await acceptor->async_accept(asio::make_strand(executor), kAwait);
    if (code == asio::error::operation_aborted || !acceptor->is_open()) co_return;
    if (code) {
      asio::steady_timer pause(acceptor->get_executor(), kAcceptPause);
      co_await pause.async_wait(kAwait);
      continue;
    }
    error_code ignored;
    if constexpr (std::is_same_v<Protocol, asio::ip::tcp>) {
      socket.set_option(asio::ip::tcp::no_delay(true), ignored);
    }
    if (connections.fetch_add(1) >= limits.max_connections) {
      connections.fetch_sub(1);
      socket.non_blocking(true, ignored);
      socket.send(asio::buffer(kTooManyConnections), 0, ignored);
      continue;
    }
    const auto strand = socket.get_executor();
    auto stream = std::make_shared<ByteStream>(
        asio::basic_stream_socket<asio::generic::stream_protocol, asio::any_io_executor>(
            std::move(socket)));
    asio::co_spawn(
        strand, [self = this->shared_from_this(), stream] { return self->Serve(stream); },
        asio::detached);
  }
}

Server::Server(asio::any_io_executor executor, HttpHandler& handler, ServerLimits limits)
    : state_(std::make_shared<State>(std::move(executor), handler, limits)) {}

Server::~Server() { StopAccepting(); }

namespace {

template <typename Protocol>
Result<std::shared_ptr<asio::basic_socket_acceptor<Protocol, asio::any_io_executor>>> Bind(
    asio::any_io_executor executor, const typename Protocol::endpoint& endpoint,
    const std::string& name) {
  auto acceptor =
      std::make_shared<asio::basic_socket_acceptor<Protocol, asio::any_io_executor>>(executor);
  error_code code;
  acceptor->open(endpoint.protocol(), code);
  if (!code && std::is_same_v<Protocol, asio::ip::tcp>) {
    acceptor->set_option(asio::socket_base::reuse_address(true), code);
  }
  if (!code) acceptor->bind(endpoint, code);
  if (!code) acceptor->listen(asio::socket_base::max_listen_connections, code);
  if (code) {
    return FailedPrecondition("Listening on " + name + " fails: " + code.message() + ".");
  }
  return acceptor;
}

}  // namespace

Result<ListenAddress> Server::Listen(const ListenAddress& address) {
  const auto start = [this](auto acceptor) {
    using Acceptor = typename decltype(acceptor)::element_type;
    const std::lock_guard lock(state_->mutex);
    state_->close_acceptors.push_back([acceptor] {
      asio::post(acceptor->get_executor(), [acceptor] {
        error_code ignored;
        acceptor->close(ignored);
      });
    });
    asio::co_spawn(
        acceptor->get_executor(),
        [state = state_, acceptor] {
          return state->Accept<typename Acceptor::protocol_type>(acceptor);
        },
        asio::detached);
  };
  ListenAddress bound = address;
  if (address.is_unix) {
    STOKER_TRY(auto claim, SocketClaim::Take(address.path));
    const mode_t before = umask(0177);
    auto acceptor = Bind<asio::local::stream_protocol>(
        asio::make_strand(state_->executor), asio::local::stream_protocol::endpoint(address.path),
        address.ToString());
    umask(before);
    if (!acceptor.ok()) return acceptor.error();
    {
      const std::lock_guard lock(state_->mutex);
      state_->claims.push_back(std::move(claim));
    }
    start(*std::move(acceptor));
  } else {
    STOKER_TRY(auto acceptor,
               Bind<asio::ip::tcp>(
                   asio::make_strand(state_->executor),
                   asio::ip::tcp::endpoint(asio::ip::make_address(address.host), address.port),
                   address.ToString()));
    bound.port = acceptor->local_endpoint().port();
    start(std::move(acceptor));
  }
  return bound;
}

void Server::StopAccepting() {
  if (state_->stopping.exchange(true)) return;
  const std::lock_guard lock(state_->mutex);
  for (const auto& close_acceptor : state_->close_acceptors) close_acceptor();
  state_->claims.clear();
  for (const auto& entry : state_->open) {
    asio::post(entry->stream->get_executor(), [entry] {
      if (!entry->in_request) entry->stream->cancel();
    });
  }
}

std::size_t Server::connections() const { return state_->connections; }
std::size_t Server::active_requests() const { return state_->active; }

}  // namespace stoker::net
