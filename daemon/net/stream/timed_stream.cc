#include "daemon/net/stream/timed_stream.h"

#include <algorithm>

namespace stoker::net {

namespace asio = boost::asio;

asio::awaitable<Opening> TimedStream::Open(Milliseconds timeout) {
  deadline_ = Clock::now() + timeout;
  const Opening opening = co_await stream_->Open();
  deadline_ = Clock::time_point::max();
  co_return opening;
}

asio::awaitable<IoResult> TimedStream::ReadSome(std::span<char> into, Milliseconds timeout) {
  return ReadBy(into, Clock::now() + timeout);
}

asio::awaitable<IoResult> TimedStream::ReadBy(std::span<char> into, Clock::time_point moment) {
  deadline_ = moment;
  const IoResult result = co_await stream_->ReadSome(into);
  deadline_ = Clock::time_point::max();
  co_return result;
}

asio::awaitable<boost::system::error_code> TimedStream::Write(std::string_view head,
                                                              std::string_view body,
                                                              Milliseconds timeout) {
  while (!head.empty() || !body.empty()) {
    deadline_ = Clock::now() + timeout;
    const IoResult result = co_await stream_->WriteSome(head, body);
    deadline_ = Clock::time_point::max();
    if (result.code) co_return result.code;
    const std::size_t of_head = std::min(result.bytes, head.size());
    head.remove_prefix(of_head);
    body.remove_prefix(result.bytes - of_head);
  }
  co_return boost::system::error_code();
}

}  // namespace stoker::net
