// What a request handler sees of HTTP: plain requests, plain replies, and a stream for answers that
// come in pieces. Beast stays in the .cc files of this folder.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/base/result.h"

namespace stoker::net {

struct HttpRequest {
  std::string method;
  std::string path;   // Without the query.
  std::string query;  // What follows '?', as it came.
  std::string body;
};

struct HttpReply {
  int status = 200;
  std::string content_type = "application/x-protobuf";
  std::string body;
  int retry_after_s = 0;  // 0: no Retry-After header.
};

// A 200 with a chunked body, sent piece by piece.
class HttpStream {
 public:
  virtual ~HttpStream() = default;
  // An error means the peer is gone or too slow; further calls fail too.
  virtual boost::asio::awaitable<Status> Send(std::string_view piece) = 0;
};

class HttpHandler {
 public:
  virtual ~HttpHandler() = default;

  // Called from many connections at once. Returns the reply, or sends a stream and returns nullopt.
  virtual boost::asio::awaitable<std::optional<HttpReply>> Handle(HttpRequest request,
                                                                  HttpStream& stream) = 0;
};

}  // namespace stoker::net
