#include <sys/stat.h>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <functional>
#include <mutex>
#include <vector>

#include "daemon/net/listener.h"
#include "daemon/net/loop.h"
#include "daemon/net/socket_claim.h"
#include "daemon/net/stream/stream.h"

namespace stoker::net {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

// After accepting failed, for want of descriptors as a rule.
constexpr std::chrono::milliseconds kAcceptPause{50};

template <typename Protocol>
using Acceptor = asio::basic_socket_acceptor<Protocol, asio::any_io_executor>;

template <typename Protocol>
Result<std::shared_ptr<Acceptor<Protocol>>> Bind(const asio::any_io_executor& executor,
                                                 const typename Protocol::endpoint& endpoint,
                                                 const std::string& name) {
  auto acceptor = std::make_shared<Acceptor<Protocol>>(executor);
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

// Nobody may connect before the mode is set: it is until then that of its user alone.
Status SetMode(const std::string& path, unsigned mode) {
  if (chmod(path.c_str(), mode) == 0) return Ok();
  return FailedPrecondition("Socket '" + path + "' cannot be given its mode: " +
                            std::generic_category().message(errno) + ".");
}

}  // namespace

struct Server::State {
  State(HttpHandler& handler, const ServerLimits& l, const TlsServer* t) : limits(l), tls(t) {
    for (int i = 0; i < limits.threads; ++i) {
      loops.push_back(std::make_unique<Loop>(handler, limits, load, uploads));
    }
  }

  template <typename Protocol>
  asio::awaitable<void> Accept(std::shared_ptr<Acceptor<Protocol>> acceptor, Entrance entrance);
  template <typename Protocol>
  void Start(std::shared_ptr<Acceptor<Protocol>> acceptor, const Entrance& entrance);

  const ServerLimits limits;
  const TlsServer* const tls;
  ServerLoad load;
  Uploads uploads{limits};
  std::size_t next_loop = 0;  // Used on the first loop's thread alone.
  std::vector<std::unique_ptr<Loop>> loops;
  std::mutex mutex;  // Guards what follows.
  std::vector<std::function<void()>> close_acceptors;
  std::vector<std::unique_ptr<SocketClaim>> claims;
};

// Connections take turns on the loops.
template <typename Protocol>
asio::awaitable<void> Server::State::Accept(std::shared_ptr<Acceptor<Protocol>> acceptor,
                                            Entrance entrance) {
  while (!load.stopping) {
    Loop& loop = *loops[next_loop++ % loops.size()];
    auto [code, socket] = co_await acceptor->async_accept(loop.executor(), kAwait);
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
    loop.Serve(StreamSocket(std::move(socket)), entrance);
  }
}

template <typename Protocol>
void Server::State::Start(std::shared_ptr<Acceptor<Protocol>> acceptor, const Entrance& entrance) {
  {
    const std::lock_guard lock(mutex);
    close_acceptors.push_back([acceptor] {
      asio::post(acceptor->get_executor(), [acceptor] {
        error_code ignored;
        acceptor->close(ignored);
      });
    });
  }
  asio::co_spawn(
      acceptor->get_executor(),
      [this, acceptor, entrance] { return Accept<Protocol>(acceptor, entrance); }, asio::detached);
}

Server::Server(HttpHandler& handler, ServerLimits limits, const TlsServer* tls)
    : state_(std::make_unique<State>(handler, limits, tls)) {}

Server::~Server() {
  StopAccepting();
  Stop();
}

Result<ListenAddress> Server::Listen(const ListenAddress& address, unsigned socket_mode) {
  const asio::any_io_executor executor = state_->loops.front()->executor();
  if (address.is_unix) {
    STOKER_TRY(auto claim, SocketClaim::Take(address.path));
    const mode_t before = umask(0177);
    auto acceptor = Bind<asio::local::stream_protocol>(
        executor, asio::local::stream_protocol::endpoint(address.path), address.ToString());
    umask(before);
    if (!acceptor.ok()) return acceptor.error();
    STOKER_RETURN_IF_ERROR(SetMode(address.path, socket_mode));
    {
      const std::lock_guard lock(state_->mutex);
      state_->claims.push_back(std::move(claim));
    }
    state_->Start(*std::move(acceptor), {});
    return address;
  }
  if (address.is_tls && state_->tls == nullptr) {
    return FailedPrecondition("Listening on " + address.ToString() + " needs a certificate.");
  }
  STOKER_TRY(
      auto acceptor,
      Bind<asio::ip::tcp>(
          executor, asio::ip::tcp::endpoint(asio::ip::make_address(address.host), address.port),
          address.ToString()));
  ListenAddress bound = address;
  bound.port = acceptor->local_endpoint().port();
  state_->Start(std::move(acceptor), {.tls = address.is_tls ? state_->tls : nullptr,
                                      .over_network = address.IsOnNetwork()});
  return bound;
}

void Server::StopAccepting() {
  if (state_->load.stopping.exchange(true)) return;
  const std::lock_guard lock(state_->mutex);
  for (const auto& close_acceptor : state_->close_acceptors) close_acceptor();
  state_->claims.clear();
  for (const auto& loop : state_->loops) loop->CloseIdle();
}

void Server::Stop() {
  for (const auto& loop : state_->loops) loop->Stop();
}

std::size_t Server::connections() const { return state_->load.connections; }
ConnectionCounts Server::connections_by_state() const {
  ConnectionCounts counts{};
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = state_->load.by_state[i];
  return counts;
}
KeptUploads Server::kept_uploads() const { return state_->uploads.kept(); }
std::size_t Server::active_requests() const { return state_->load.active_requests; }

}  // namespace stoker::net
