// Connection: one peer, whose requests are read within limits, handled, and answered in order.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string_view>

#include "daemon/net/http/http.h"
#include "daemon/net/http/limits.h"
#include "daemon/net/http/request_reader.h"
#include "daemon/net/http/uploads.h"
#include "daemon/net/stream/timed_stream.h"

namespace stoker::net {

// Used on one thread, which also runs its coroutines.
class Connection {
 public:
  // The references must outlive it. `is_urgent`: one that is there for urgent requests alone,
  // because all others are taken.
  Connection(std::unique_ptr<Stream> stream, const Peer& peer, bool is_urgent, HttpHandler& handler,
             const ServerLimits& limits, ServerLoad& load, Uploads& uploads);

  // Comes first. False when the connection is to be closed.
  boost::asio::awaitable<bool> Open();
  // Waits for a request and answers it. False when the connection is to be closed: the peer left,
  // was too slow, or asked for what is refused; or the server stops.
  boost::asio::awaitable<bool> ServeOne();
  void Close() {
    is_closed_ = true;
    stream_.Close();
  }

  // Open, and waiting for a request.
  bool is_idle() const { return !in_request_ && !is_closed_; }
  // Open, and no request of which the whole header has come awaits its answer.
  bool is_spare() const { return !has_header_ && !is_closed_; }
  bool is_urgent() const { return is_urgent_; }
  bool IsLate(TimedStream::Clock::time_point now) const {
    return stream_.IsLate(now) || (turn_ && turn_->IsOver());
  }

 private:
  // These: false when the connection is to be closed.
  boost::asio::awaitable<bool> Serve(Incoming incoming);
  boost::asio::awaitable<bool> ServeUpload(const Incoming& incoming);
  // The body, of which `room` is taken for what is there, and what follows.
  boost::asio::awaitable<bool> Receive(Incoming incoming, Room room, std::size_t max_bytes);
  boost::asio::awaitable<bool> Answer(Incoming incoming);
  boost::asio::awaitable<bool> Reply(const HttpReply& reply, const Incoming& incoming);
  // Without reading the body, which ends the connection if there is one.
  boost::asio::awaitable<bool> Reject(const HttpReply& refusal, const Incoming& incoming);
  // And closes.
  boost::asio::awaitable<void> Refuse(const HttpReply& reply, std::string_view request_id);
  // Of who may ask nothing, by this connection.
  std::optional<HttpReply> RefusalOf(const HttpRequest& header) const;
  boost::asio::awaitable<void> Linger();
  bool KeepsAlive(const Incoming& incoming) const;

  TimedStream stream_;
  Peer peer_;
  const bool is_urgent_;
  HttpHandler& handler_;
  const ServerLimits& limits_;
  ServerLoad& load_;
  Uploads& uploads_;
  std::optional<Uploads::Turn> turn_;  // While a request is read that can go on elsewhere.
  RequestReader reader_;
  CountedState state_;
  bool in_request_ = false;
  bool has_header_ = false;  // Of a request that has not been answered.
  bool is_closed_ = false;
};

}  // namespace stoker::net
