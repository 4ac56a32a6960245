// Listening addresses and the server that accepts on them.
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/net/http.h"
#include "protocol/base/result.h"

namespace stoker::net {

// "unix:/path" or "http://127.0.0.1:8471" (port 0: any free one). Addresses beyond loopback are
// refused: TLS and authentication, without which the cache must not be reachable from elsewhere,
// are not there.
struct ListenAddress {
  bool is_unix = true;
  std::string path;
  std::string host;
  std::uint16_t port = 0;

  static Result<ListenAddress> Parse(std::string_view text);
  std::string ToString() const;
};

struct ServerLimits {
  std::size_t max_connections = 1024;
  std::size_t max_header_bytes = 64 << 10;
  std::size_t max_body_bytes = std::size_t{512} << 20;
  // Of all requests under way; one that does not say its size counts as the largest.
  std::size_t max_bodies_bytes = std::size_t{2} << 30;
  std::chrono::milliseconds idle_timeout{300000};  // Between requests on one connection.
  std::chrono::milliseconds header_timeout{10000};
  // For a body or a reply: a floor on the speed rather than a fixed time would allow more, and
  // this is far above what a local peer needs.
  std::chrono::milliseconds transfer_timeout{60000};
  // How long a refused peer may go on sending before its connection is closed.
  std::chrono::milliseconds linger_timeout{2000};
};

class Server {
 public:
  // `handler` must outlive the server and every connection.
  Server(boost::asio::any_io_executor executor, HttpHandler& handler, ServerLimits limits);
  ~Server();

  // Binds and starts accepting. A Unix socket is guarded by a lock on "<path>.lock", so that of
  // several daemons that start at once one listens; a socket file that a dead one left is replaced.
  // The socket has mode 0600. FailedPrecondition when somebody listens there already.
  // Returns the address with the port that was chosen.
  Result<ListenAddress> Listen(const ListenAddress& address);

  // Accepts no more, and leaves the addresses to whoever comes next. Open connections finish the
  // request they are in; idle ones are closed.
  void StopAccepting();
  std::size_t connections() const;
  // Requests being handled now.
  std::size_t active_requests() const;

 private:
  struct State;
  std::shared_ptr<State> state_;  // Shared with the coroutines of its connections.
};

}  // namespace stoker::net
