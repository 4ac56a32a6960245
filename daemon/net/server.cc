// Connections of every transport are generic stream sockets, so that Beast is instantiated once.
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/as_tuple.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <list>
#include <mutex>

#include "daemon/net/listener.h"
#include "protocol/wire/messages.h"

namespace stoker::net {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
using ByteStream = beast::basic_stream<asio::generic::stream_protocol, asio::any_io_executor>;
constexpr auto kAwait = asio::experimental::as_tuple(asio::use_awaitable);

HttpReply ErrorReplyFor(int status, const Error& error, int retry_after_s = 0) {
  HttpReply reply;
  reply.status = status;
  reply.body = wire::EncodeErrorReply(wire::ErrorReplyOf(error));
  reply.retry_after_s = retry_after_s;
  return reply;
}

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
  asio::awaitable<bool> ServeOne(ByteStream& stream, beast::flat_buffer& buffer,
                                 std::atomic<bool>& in_request);
  asio::awaitable<bool> Reply(ByteStream& stream, HttpReply reply, bool keep_alive);

  asio::any_io_executor executor;
  HttpHandler& handler;
  const ServerLimits limits;
  std::atomic<bool> stopping{false};
  std::atomic<std::size_t> connections{0};
  std::atomic<std::size_t> active{0};
  std::mutex mutex;
  std::vector<std::function<void()>> close_acceptors;
  std::vector<std::string> socket_paths;

  // Open connections, so that idle ones can be closed when accepting stops.
  struct Open {
    std::shared_ptr<ByteStream> stream;
    std::atomic<bool> in_request{false};
  };
  std::list<std::shared_ptr<Open>> open;
};

asio::awaitable<bool> Server::State::Reply(ByteStream& stream, HttpReply reply, bool keep_alive) {
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
  const auto [code, size] = co_await http::async_write(stream, response, kAwait);
  co_return !code && keep_alive;
}

// False when the connection is to be closed.
asio::awaitable<bool> Server::State::ServeOne(ByteStream& stream, beast::flat_buffer& buffer,
                                              std::atomic<bool>& in_request) {
  http::request_parser<http::string_body> parser;
  parser.header_limit(static_cast<std::uint32_t>(limits.max_header_bytes));
  parser.body_limit(limits.max_body_bytes);
  if (buffer.size() == 0) {
    // Between requests a connection may be idle for long; within a header it may not.
    stream.expires_after(limits.idle_timeout);
    const auto [wait_code, wait_size] =
        co_await stream.async_read_some(buffer.prepare(4096), kAwait);
    if (wait_code) co_return false;
    buffer.commit(wait_size);
  }
  in_request = true;
  active.fetch_add(1);
  struct Leave {
    std::atomic<bool>& in_request;
    std::atomic<std::size_t>& active;
    ~Leave() {
      in_request = false;
      active.fetch_sub(1);
    }
  } leave{in_request, active};

  stream.expires_after(limits.header_timeout);
  error_code code;
  std::size_t size = 0;
  std::tie(code, size) = co_await http::async_read_header(stream, buffer, parser, kAwait);
  if (!code && parser.content_length() && *parser.content_length() > limits.max_body_bytes) {
    code = http::error::body_limit;
  }
  if (!code) {
    stream.expires_after(limits.transfer_timeout);
    if (beast::iequals(parser.get()[http::field::expect], "100-continue")) {
      http::response<http::empty_body> go_on(http::status::continue_, 11);
      std::tie(code, size) = co_await http::async_write(stream, go_on, kAwait);
    }
    if (!code) std::tie(code, size) = co_await http::async_read(stream, buffer, parser, kAwait);
  }
  if (code == http::error::body_limit) {
    co_await Reply(
        stream,
        ErrorReplyFor(413, ResourceExhausted("The body exceeds the limit of " +
                                             std::to_string(limits.max_body_bytes) + " bytes.")),
        false);
    co_return false;
  }
  if (code == http::error::header_limit) {
    co_await Reply(
        stream,
        ErrorReplyFor(431, ResourceExhausted("The header exceeds the limit of " +
                                             std::to_string(limits.max_header_bytes) + " bytes.")),
        false);
    co_return false;
  }
  if (code) {
    if (code.category() == http::make_error_code(http::error::bad_method).category() &&
        code != http::error::end_of_stream && code != http::error::partial_message) {
      co_await Reply(
          stream,
          ErrorReplyFor(400, InvalidArgument("This is no HTTP request: " + code.message() + ".")),
          false);
    }
    co_return false;
  }

  auto message = parser.release();
  const bool keep_alive = message.keep_alive() && !stopping;
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
  if (!reply) co_return co_await chunks.Finish() && keep_alive;
  if (is_head) reply->body.clear();
  co_return co_await Reply(stream, std::move(*reply), keep_alive);
}

asio::awaitable<void> Server::State::Serve(std::shared_ptr<ByteStream> stream) {
  auto entry = std::make_shared<Open>();
  entry->stream = stream;
  {
    const std::lock_guard lock(mutex);
    open.push_back(entry);
  }
  beast::flat_buffer buffer;
  bool again = true;
  while (again && !stopping) {
    again = co_await ServeOne(*stream, buffer, entry->in_request);
  }
  error_code ignored;
  stream->socket().shutdown(asio::socket_base::shutdown_both, ignored);
  stream->close();
  {
    const std::lock_guard lock(mutex);
    open.remove(entry);
  }
  connections.fetch_sub(1);
}

template <typename Protocol>
asio::awaitable<void> Server::State::Accept(
    std::shared_ptr<asio::basic_socket_acceptor<Protocol, asio::any_io_executor>> acceptor) {
  while (!stopping) {
    auto [code, socket] = co_await acceptor->async_accept(asio::make_strand(executor), kAwait);
    if (code == asio::error::operation_aborted || !acceptor->is_open()) co_return;
    if (code) continue;
    if constexpr (std::is_same_v<Protocol, asio::ip::tcp>) {
      error_code ignored;
      socket.set_option(asio::ip::tcp::no_delay(true), ignored);
    }
    if (connections.fetch_add(1) >= limits.max_connections) {
      connections.fetch_sub(1);
      continue;  // Closed at once: the peer sees a broken connection and retries.
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

// Whether a process accepts on this socket file.
bool SomebodyListens(const std::string& path) {
  asio::io_context io;
  asio::local::stream_protocol::socket probe(io);
  error_code code;
  probe.connect(asio::local::stream_protocol::endpoint(path), code);
  return !code;
}

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
    if (access(address.path.c_str(), F_OK) == 0) {
      if (SomebodyListens(address.path)) {
        return FailedPrecondition("Somebody listens on " + address.ToString() + " already.");
      }
      unlink(address.path.c_str());
    }
    const mode_t before = umask(0177);
    auto acceptor = Bind<asio::local::stream_protocol>(
        asio::make_strand(state_->executor), asio::local::stream_protocol::endpoint(address.path),
        address.ToString());
    umask(before);
    if (!acceptor.ok()) return acceptor.error();
    state_->socket_paths.push_back(address.path);
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
  for (const std::string& path : state_->socket_paths) unlink(path.c_str());
  for (const auto& entry : state_->open) {
    asio::post(entry->stream->get_executor(), [entry] {
      if (!entry->in_request) entry->stream->cancel();
    });
  }
}

std::size_t Server::connections() const { return state_->connections; }
std::size_t Server::active_requests() const { return state_->active; }

}  // namespace stoker::net
