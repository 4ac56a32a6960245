// Stream: connected bytes over any transport. Used by one connection, on its executor.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/experimental/as_tuple.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stoker::net {

// Sockets of every transport are generic ones, so that what uses them is compiled once.
using StreamSocket = boost::asio::basic_stream_socket<boost::asio::generic::stream_protocol,
                                                      boost::asio::any_io_executor>;

// Operations that are awaited give what they say instead of throwing it.
inline constexpr auto kAwait = boost::asio::experimental::as_tuple(boost::asio::use_awaitable);

struct IoResult {
  boost::system::error_code code;
  std::size_t bytes = 0;
};

enum class Opening : std::uint8_t {
  kOpen,
  // The peer is gone, or what it says is not believed. What it may still send can be read, to be
  // thrown away.
  kFailed,
  // The peer speaks without the encryption that is asked for here. What is written from now on goes
  // out in clear, so that it learns why it is refused.
  kInClear,
};

class Stream {
 public:
  virtual ~Stream() = default;

  // Once, and before anything else.
  virtual boost::asio::awaitable<Opening> Open() = 0;
  // As Peer::certificate_names; of an open stream.
  virtual std::vector<std::string> CertificateNames() const { return {}; }

  // At least one byte, or an error; the end of what the peer sends is one.
  virtual boost::asio::awaitable<IoResult> ReadSome(std::span<char> into) = 0;
  // At least one byte of `head` and what follows it in `body`, or an error.
  virtual boost::asio::awaitable<IoResult> WriteSome(std::string_view head,
                                                     std::string_view body) = 0;
  // The peer sees the end of what is sent; what it sends can still be read.
  virtual boost::asio::awaitable<void> EndSending() = 0;
  // Ends both directions; operations under way fail.
  virtual void Close() = 0;
};

std::unique_ptr<Stream> PlainStream(StreamSocket socket);

}  // namespace stoker::net
