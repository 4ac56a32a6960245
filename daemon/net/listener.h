// Listening addresses and the server that accepts on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "daemon/net/http/http.h"
#include "daemon/net/http/limits.h"
#include "protocol/base/result.h"

namespace stoker::net {

class TlsServer;

// "unix:/path", "http://127.0.0.1:8471" or "https://0.0.0.0:8471" (port 0: any free one).
struct ListenAddress {
  bool is_unix = true;
  bool is_tls = false;
  std::string path;
  std::string host;
  std::uint16_t port = 0;

  static Result<ListenAddress> Parse(std::string_view text);
  // Whether other hosts reach it.
  bool IsOnNetwork() const;
  std::string ToString() const;
};

// Serves on threads of its own. Each connection stays on one of them, and so does what the handler
// does for it up to where it waits for somebody else.
class Server {
 public:
  // `handler` must outlive the server, as `tls` must, which https addresses need.
  Server(HttpHandler& handler, ServerLimits limits, const TlsServer* tls = nullptr);
  // Stops.
  ~Server();

  // Binds and starts accepting. A Unix socket is guarded by a lock on "<path>.lock", so that of
  // several daemons that start at once one listens; a socket file that a dead one left is replaced.
  // The socket has mode `socket_mode`. FailedPrecondition when somebody listens there already.
  // Returns the address with the port that was chosen.
  Result<ListenAddress> Listen(const ListenAddress& address, unsigned socket_mode = 0600);

  // Accepts no more, and leaves the addresses to whoever comes next. Open connections finish the
  // request they are in; idle ones are closed.
  void StopAccepting();
  // Ends the threads, whatever they do. What handlers have given to others to do may still be under
  // way: it must be over before the server is destroyed.
  void Stop();
  std::size_t connections() const;
  ConnectionCounts connections_by_state() const;
  KeptUploads kept_uploads() const;
  // Requests being handled now.
  std::size_t active_requests() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stoker::net
