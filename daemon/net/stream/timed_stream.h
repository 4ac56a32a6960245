// TimedStream: a stream each of whose steps has a deadline. Whoever owns the connections looks from
// time to time which are late, and closes them: a timer for each step would cost more than the
// step.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/net/stream/stream.h"

namespace stoker::net {

class TimedStream {
 public:
  using Clock = std::chrono::steady_clock;
  using Milliseconds = std::chrono::milliseconds;

  explicit TimedStream(std::unique_ptr<Stream> stream) : stream_(std::move(stream)) {}

  // Each is bounded by `timeout`, ReadBy by a moment.
  boost::asio::awaitable<Opening> Open(Milliseconds timeout);
  boost::asio::awaitable<IoResult> ReadSome(std::span<char> into, Milliseconds timeout);
  boost::asio::awaitable<IoResult> ReadBy(std::span<char> into, Clock::time_point moment);
  // All of both. `timeout` is for the wait until something more has gone out.
  boost::asio::awaitable<boost::system::error_code> Write(std::string_view head,
                                                          std::string_view body,
                                                          Milliseconds timeout);
  std::vector<std::string> CertificateNames() const { return stream_->CertificateNames(); }
  boost::asio::awaitable<void> EndSending() { return stream_->EndSending(); }
  void Close() { stream_->Close(); }

  bool IsLate(Clock::time_point now) const { return now > deadline_; }

 private:
  const std::unique_ptr<Stream> stream_;
  Clock::time_point deadline_ = Clock::time_point::max();  // Of the step under way.
};

}  // namespace stoker::net
