// RequestReader: cuts what a peer sends into requests, within limits.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "daemon/net/http/http.h"
#include "daemon/net/http/limits.h"
#include "daemon/net/stream/timed_stream.h"

namespace stoker::net {

// What a request says of an upload; nothing where it has no body whose length it says.
struct UploadFields {
  bool is_understood = false;  // It speaks the version of the draft that is spoken here.
  bool is_part = false;        // By its media type.
  std::optional<bool> complete;
  std::optional<std::uint64_t> offset;
  std::optional<std::uint64_t> length;
};

// A request, and what of it is not for the handler.
struct Incoming {
  HttpRequest request;
  bool keep_alive = true;
  bool is_http_1_0 = false;
  std::string range;                  // The header, as it came; empty where it does not count.
  std::uint64_t announced_bytes = 0;  // Of its body, which is to come.
  std::size_t have = 0;  // Of request.body: before it is read, what another connection brought.
  bool is_chunked = false;
  bool expects_100 = false;
  UploadFields upload;
  bool ends_upload = false;  // It is the rest of `request`, which came over another connection.

  bool has_body() const { return announced_bytes > 0 || is_chunked; }
};

struct Closed {};  // The peer is gone or too slow.

// A request, or how it is refused; a connection that was refused something is closed.
using ReadOutcome = std::variant<Closed, HttpReply, Incoming>;

class RequestReader {
 public:
  // The references must outlive it.
  RequestReader(TimedStream& stream, const ServerLimits& limits);
  ~RequestReader();

  // Waits for the first byte of the next request. False: there is none.
  boost::asio::awaitable<bool> Wait();
  // The request that has begun, without its body.
  boost::asio::awaitable<ReadOutcome> ReadHead();
  // Its body, which has `max_bytes` at most; `room` is taken for the string that it is in. How
  // reading ends, or nothing where the request is whole. Where the connection broke, a body of
  // known length has what came of it.
  boost::asio::awaitable<std::optional<ReadOutcome>> ReadBody(Incoming* incoming,
                                                              std::size_t max_bytes, Room& room);

 private:
  class Parsing;

  // False: the peer is gone or too slow.
  boost::asio::awaitable<bool> Fill(TimedStream::Clock::time_point deadline);
  // These: how reading ends, or nothing where it goes on.
  boost::asio::awaitable<std::optional<ReadOutcome>> ReadHeader(Parsing& parsing);
  boost::asio::awaitable<std::optional<ReadOutcome>> ReadSized(std::uint64_t bytes, Room& room,
                                                               Incoming* incoming);
  boost::asio::awaitable<std::optional<ReadOutcome>> ReadChunked(std::size_t max_bytes, Room& room,
                                                                 std::string* body);
  // When a body of which so much has come must have brought more.
  TimedStream::Clock::time_point BodyDeadline(std::size_t have) const;

  TimedStream& stream_;
  const ServerLimits& limits_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;  // What has come and is not used up: [begin_, end_) of the buffer.
  std::size_t end_ = 0;
  std::unique_ptr<Parsing> parsing_;  // Of the request whose body may follow.
  TimedStream::Clock::time_point body_start_;
};

}  // namespace stoker::net
