// Connection: one peer, whose requests are read within limits, handled, and answered in order.
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstddef>
#include <memory>

#include "daemon/net/http.h"
#include "daemon/net/listener.h"

namespace stoker::net {

// What all connections of a server share.
struct ServerLoad {
  std::atomic<bool> stopping{false};
  std::atomic<std::size_t> connections{0};
  std::atomic<std::size_t> active_requests{0};
  std::atomic<std::size_t> bodies_bytes{0};
};

// Sockets of every transport are generic ones, so that Beast is instantiated once.
using StreamSocket = boost::asio::basic_stream_socket<boost::asio::generic::stream_protocol,
                                                      boost::asio::any_io_executor>;
using ByteStream =
    boost::beast::basic_stream<boost::asio::generic::stream_protocol, boost::asio::any_io_executor>;

// Shared by its coroutine and by the server, which may close it when it stops.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  // The socket's executor is a strand. The references must outlive Serve.
  Connection(StreamSocket socket, HttpHandler& handler, const ServerLimits& limits,
             ServerLoad& load);

  // Returns when the connection is to be closed: the peer left, was too slow, or asked for what is
  // refused; or the server stops. Runs on the strand.
  boost::asio::awaitable<void> Serve();
  // Ends Serve unless a request is under way. From any thread.
  void CloseIfIdle();
  void Close();

 private:
  using Request = boost::beast::http::request<boost::beast::http::string_body>;
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

  // These: false when the connection is to be closed.
  boost::asio::awaitable<bool> ServeOne();
  boost::asio::awaitable<bool> Answer(Request message);
  boost::asio::awaitable<bool> Reply(HttpReply reply, bool keep_alive, bool head_only = false);

  boost::asio::awaitable<boost::system::error_code> ReadBody(Parser& parser);
  boost::asio::awaitable<void> Linger();
  bool IsOverTcp();

  ByteStream stream_;
  HttpHandler& handler_;
  const ServerLimits& limits_;
  ServerLoad& load_;
  boost::beast::flat_buffer buffer_;
  std::atomic<bool> in_request_{false};
};

}  // namespace stoker::net
