// What a request handler sees of HTTP: plain requests, plain replies, and a stream for answers that
// come in pieces. Beast stays in the .cc files of this folder.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/net/http/peer.h"
#include "protocol/base/result.h"

namespace stoker::net {

struct HttpRequest {
  std::string method;
  std::string path;   // Without the query.
  std::string query;  // What follows '?', as it came.
  std::string body;
  std::optional<std::string> authorization;  // These headers as they came.
  std::string host;
  std::optional<std::string> origin;
  std::string id;   // Of this request, in logs and in the reply: the client's, or made up.
  std::string job;  // Of whose it is, as the client says (X-Stoker-Job); empty: it does not.
  Peer peer;
};

// Bytes of an answer: a string of its own, or bytes that somebody else keeps alive and shares.
class Body {
 public:
  Body() = default;
  Body(std::string bytes) : own_(std::move(bytes)) {}  // NOLINT: implicit
  Body(const char* text) : own_(text) {}               // NOLINT: implicit
  // `bytes` live as long as `owner`.
  Body(std::shared_ptr<const void> owner, std::string_view bytes)
      : owner_(std::move(owner)), shared_(bytes) {}

  std::string_view bytes() const { return owner_ == nullptr ? own_ : shared_; }
  bool is_shared() const { return owner_ != nullptr; }
  // These bytes of it, [first, first + count).
  Body Part(std::size_t first, std::size_t count) && {
    if (owner_ != nullptr) return {std::move(owner_), shared_.substr(first, count)};
    return {own_.substr(first, count)};
  }

 private:
  std::string own_;
  std::shared_ptr<const void> owner_;
  std::string_view shared_;
};

struct HttpReply {
  int status = 200;
  std::string content_type = "application/x-protobuf";
  Body body;
  int retry_after_s = 0;        // 0: no Retry-After header.
  bool accepts_ranges = false;  // A request for a part of the body gets that part, 206.
  std::vector<std::pair<std::string, std::string>> headers;  // Further ones; no line breaks.
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
  // Asked when the header of a request is there and its body is not: who may not ask, or asks for
  // nothing, must not make anybody keep a body. The reply that refuses it, or how long its body
  // may be within the server's limit.
  struct Admission {
    std::optional<HttpReply> refusal = {};
    std::size_t max_body_bytes = std::numeric_limits<std::size_t>::max();
  };
  virtual Admission Admit(const HttpRequest& header) = 0;
  // Whether a request is answered although all connections are taken: health, and nothing that
  // takes long.
  virtual bool IsUrgent(std::string_view path) const = 0;
};

}  // namespace stoker::net
