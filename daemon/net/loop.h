// Loop: one network thread and the connections that live on it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <list>
#include <memory>
#include <thread>

#include "daemon/net/connection.h"
#include "daemon/net/http/limits.h"
#include "daemon/net/stream/tls_server.h"

namespace stoker::net {

// By which of the daemon's addresses somebody came.
struct Entrance {
  const TlsServer* tls = nullptr;  // Null: in clear. Outlives the server.
  bool over_network = false;       // Other hosts reach it.
};

class Loop {
 public:
  // The references must outlive it.
  Loop(HttpHandler& handler, const ServerLimits& limits, ServerLoad& load, Uploads& uploads);
  // Stops.
  ~Loop();

  boost::asio::any_io_executor executor() { return io_.get_executor(); }

  // From any thread. The socket's executor is this loop's.
  void Serve(StreamSocket socket, const Entrance& entrance);
  void CloseIdle();
  void Stop();

 private:
  using Connections = std::list<std::shared_ptr<Connection>>;  // The longest idle ones first.

  void Admit(StreamSocket socket, const Entrance& entrance);
  // Closes one of the urgent ones, or of the others: the longest idle, or else the oldest whose
  // request has not come. False: there is none.
  bool MakePlace(bool urgent);
  boost::asio::awaitable<void> Run(Connections::iterator place);
  void Sweep();

  HttpHandler& handler_;
  const ServerLimits& limits_;
  ServerLoad& load_;
  Uploads& uploads_;
  // Connections take turns on the loops: each has its share of the limits, and its own longest
  // idle.
  const std::size_t max_connections_;
  const std::size_t max_urgent_;
  std::size_t ordinary_ = 0;  // Used on the thread alone, as is what follows.
  std::size_t urgent_ = 0;
  Connections connections_;  // Used on the thread alone. Outlives the coroutines, which are in io_.
  boost::asio::io_context io_{1};
  boost::asio::steady_timer sweep_timer_{io_};
  std::thread thread_;
};

}  // namespace stoker::net
