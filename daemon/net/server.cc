#include <sys/stat.h>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <list>
#include <mutex>

#include "daemon/net/connection.h"
#include "daemon/net/listener.h"
#include "daemon/net/socket_claim.h"

namespace stoker::net {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
constexpr auto kAwait = asio::experimental::as_tuple(asio::use_awaitable);

// After accepting failed, for want of descriptors as a rule.
constexpr std::chrono::milliseconds kAcceptPause{50};
// Sent to a connection beyond the limit; fits into any socket's buffer.
constexpr std::string_view kTooManyConnections =
    "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n"
    "Connection: close\r\n\r\n";

}  // namespace

struct Server::State : std::enable_shared_from_this<Server::State> {
  State(asio::any_io_executor e, HttpHandler& h, ServerLimits l)
      : executor(std::move(e)), handler(h), limits(l) {}

  template <typename Protocol>
  asio::awaitable<void> Accept(
      std::shared_ptr<asio::basic_socket_acceptor<Protocol, asio::any_io_executor>> acceptor);
  asio::awaitable<void> Serve(std::shared_ptr<Connection> connection);

  asio::any_io_executor executor;
  HttpHandler& handler;
  const ServerLimits limits;
  ServerLoad load;
  std::mutex mutex;  // Guards what follows.
  std::vector<std::function<void()>> close_acceptors;
  std::vector<std::unique_ptr<SocketClaim>> claims;
  std::list<std::shared_ptr<Connection>> open;  // To close the idle ones when accepting stops.
};

asio::awaitable<void> Server::State::Serve(std::shared_ptr<Connection> connection) {
  {
    const std::lock_guard lock(mutex);
    open.push_back(connection);
  }
  // Also when an exception passes, for which memory would have to run out here.
  struct Leave {
    State& state;
    const std::shared_ptr<Connection>& connection;
    ~Leave() {
      connection->Close();
      const std::lock_guard lock(state.mutex);
      state.open.remove(connection);
      state.load.connections.fetch_sub(1);
    }
  } leave{*this, connection};
  co_await connection->Serve();
}

template <typename Protocol>
asio::awaitable<void> Server::State::Accept(
    std::shared_ptr<asio::basic_socket_acceptor<Protocol, asio::any_io_executor>> acceptor) {
  while (!load.stopping) {
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
    if (load.connections.fetch_add(1) >= limits.max_connections) {
      load.connections.fetch_sub(1);
      socket.non_blocking(true, ignored);
      socket.send(asio::buffer(kTooManyConnections), 0, ignored);
      continue;
    }
    const auto strand = socket.get_executor();
    auto connection =
        std::make_shared<Connection>(StreamSocket(std::move(socket)), handler, limits, load);
    asio::co_spawn(
        strand, [self = this->shared_from_this(), connection] { return self->Serve(connection); },
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
  if (state_->load.stopping.exchange(true)) return;
  const std::lock_guard lock(state_->mutex);
  for (const auto& close_acceptor : state_->close_acceptors) close_acceptor();
  state_->claims.clear();
  for (const auto& connection : state_->open) connection->CloseIfIdle();
}

std::size_t Server::connections() const { return state_->load.connections; }
std::size_t Server::active_requests() const { return state_->load.active_requests; }

}  // namespace stoker::net
