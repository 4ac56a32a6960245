// EchoHandler: answers with what it was asked, and with large bodies.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "daemon/net/http/http.h"

namespace stoker::net {

class EchoHandler : public HttpHandler {
 public:
  static constexpr std::size_t kLargeBytes = std::size_t{8} << 20;

  // "/large": many bytes; "/stream": the body in pieces; "/who": the peer; else the body.
  boost::asio::awaitable<std::optional<HttpReply>> Handle(HttpRequest request,
                                                          HttpStream& stream) override {
    if (request.path == "/stream") {
      for (std::size_t at = 0; at < request.body.size(); at += kPieceBytes) {
        const Status sent =
            co_await stream.Send(std::string_view(request.body).substr(at, kPieceBytes));
        if (!sent.ok()) break;
      }
      co_return std::nullopt;
    }
    HttpReply reply;
    reply.body = std::move(request.body);
    if (request.path == "/large") {
      auto large = std::make_shared<const std::string>(kLargeBytes, 'x');
      reply.body = Body(large, *large);
    }
    if (request.path == "/who") reply.body = TextOf(request.peer);
    co_return reply;
  }
  Admission Admit(const HttpRequest& /*header*/) override { return {}; }
  bool IsUrgent(std::string_view /*path*/) const override { return false; }

 private:
  static constexpr std::size_t kPieceBytes = 100'000;

  static std::string TextOf(const Peer& peer) {
    std::string text = peer.over_tls ? "tls" : "clear";
    for (const std::string& name : peer.certificate_names) text += " " + name;
    return text + ".";
  }
};

}  // namespace stoker::net
