#include <array>
#include <boost/asio/experimental/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "daemon/net/stream/stream.h"

namespace stoker::net {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

class Plain : public Stream {
 public:
  explicit Plain(StreamSocket socket) : socket_(std::move(socket)) {}

  asio::awaitable<Opening> Open() override { co_return Opening::kOpen; }

  asio::awaitable<IoResult> ReadSome(std::span<char> into) override {
    const auto [code, bytes] =
        co_await socket_.async_read_some(asio::buffer(into.data(), into.size()), kAwait);
    co_return IoResult{code, bytes};
  }

  asio::awaitable<IoResult> WriteSome(std::string_view head, std::string_view body) override {
    const std::array buffers = {asio::const_buffer(head.data(), head.size()),
                                asio::const_buffer(body.data(), body.size())};
    const auto [code, bytes] = co_await socket_.async_write_some(buffers, kAwait);
    co_return IoResult{code, bytes};
  }

  asio::awaitable<void> EndSending() override {
    error_code ignored;
    socket_.shutdown(asio::socket_base::shutdown_send, ignored);
    co_return;
  }

  void Close() override {
    error_code ignored;
    socket_.shutdown(asio::socket_base::shutdown_both, ignored);
    socket_.close(ignored);
  }

 private:
  StreamSocket socket_;
};

}  // namespace

std::unique_ptr<Stream> PlainStream(StreamSocket socket) {
  return std::make_unique<Plain>(std::move(socket));
}

}  // namespace stoker::net
