#include "daemon/net/loop.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <utility>

namespace stoker::net {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

// Deadlines are met this late at most, and by a quarter of the shortest one.
constexpr std::chrono::milliseconds kLongestSweep{250};
// Sent to a connection beyond all limits; fits into any socket's buffer.
constexpr std::string_view kTooManyConnections =
    "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n"
    "Connection: close\r\n\r\n";

std::chrono::milliseconds SweepInterval(const ServerLimits& limits) {
  const auto shortest =
      std::min({limits.idle_timeout, limits.header_timeout, limits.progress_timeout,
                limits.upload_timeout, limits.linger_timeout});
  return std::clamp(shortest / 4, std::chrono::milliseconds(1), kLongestSweep);
}

std::size_t ShareOf(std::size_t limit, int threads) {
  const auto loops = static_cast<std::size_t>(threads);
  return (limit + loops - 1) / loops;
}

}  // namespace

Loop::Loop(HttpHandler& handler, const ServerLimits& limits, ServerLoad& load, Uploads& uploads)
    : handler_(handler),
      limits_(limits),
      load_(load),
      uploads_(uploads),
      max_connections_(ShareOf(limits.max_connections, limits.threads)),
      max_urgent_(ShareOf(limits.max_urgent_connections, limits.threads)) {
  Sweep();
  thread_ = std::thread([this] { io_.run(); });
}

Loop::~Loop() { Stop(); }

void Loop::Stop() {
  io_.stop();
  if (thread_.joinable()) thread_.join();
}

void Loop::Serve(StreamSocket socket, const Entrance& entrance) {
  asio::post(io_, [this, moved = std::move(socket), entrance]() mutable {
    Admit(std::move(moved), entrance);
  });
}

void Loop::Admit(StreamSocket socket, const Entrance& entrance) {
  // One that is closed gives its place back when its coroutine ends, a moment later.
  const bool is_urgent = ordinary_ >= max_connections_ && !MakePlace(false);
  if (is_urgent && urgent_ >= max_urgent_ && !MakePlace(true)) {
    if (entrance.tls != nullptr) return;
    error_code ignored;
    socket.non_blocking(true, ignored);
    socket.send(asio::buffer(kTooManyConnections), 0, ignored);
    return;
  }
  ++(is_urgent ? urgent_ : ordinary_);
  load_.connections.fetch_add(1);
  Peer peer = PeerOf(socket.native_handle(), entrance.over_network);
  peer.over_tls = entrance.tls != nullptr;
  auto stream =
      peer.over_tls ? entrance.tls->Encrypted(std::move(socket)) : PlainStream(std::move(socket));
  connections_.push_back(std::make_shared<Connection>(std::move(stream), peer, is_urgent, handler_,
                                                      limits_, load_, uploads_));
  asio::co_spawn(io_, Run(std::prev(connections_.end())), asio::detached);
}

asio::awaitable<void> Loop::Run(Connections::iterator place) {
  // Also when an exception passes, for which memory would have to run out here.
  struct Leave {
    Loop& loop;
    Connections::iterator place;
    ~Leave() {
      (*place)->Close();
      --((*place)->is_urgent() ? loop.urgent_ : loop.ordinary_);
      loop.load_.connections.fetch_sub(1);
      loop.connections_.erase(place);
    }
  } leave{*this, place};
  const std::shared_ptr<Connection> connection = *place;
  bool again = co_await connection->Open();
  while (again && !load_.stopping) {
    again = co_await connection->ServeOne();
    connections_.splice(connections_.end(), connections_, place);
  }
}

bool Loop::MakePlace(bool urgent) {
  const auto first = [&](bool (Connection::*is_such)() const) {
    return std::find_if(connections_.begin(), connections_.end(), [&](const auto& connection) {
      return connection->is_urgent() == urgent && ((*connection).*is_such)();
    });
  };
  auto found = first(&Connection::is_idle);
  if (found == connections_.end()) found = first(&Connection::is_spare);
  if (found == connections_.end()) return false;
  (*found)->Close();
  return true;
}

void Loop::CloseIdle() {
  asio::post(io_, [this] {
    for (const auto& connection : connections_) {
      if (connection->is_idle()) connection->Close();
    }
  });
}

void Loop::Sweep() {
  const auto now = TimedStream::Clock::now();
  for (const auto& connection : connections_) {
    if (connection->IsLate(now)) connection->Close();
  }
  uploads_.Expire(now);
  sweep_timer_.expires_after(SweepInterval(limits_));
  sweep_timer_.async_wait([this](error_code code) {
    if (!code) Sweep();
  });
}

}  // namespace stoker::net
