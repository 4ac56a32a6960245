// HttpApi: the routes. Decodes requests, calls the service, encodes answers; nothing else.
#pragma once

#include <functional>
#include <string>

#include "daemon/admin/admin_pages.h"
#include "daemon/admin/bazel_cache.h"
#include "daemon/admin/captures_api.h"
#include "daemon/net/http.h"
#include "daemon/service/compile_service.h"

namespace stoker {

class HttpApi : public net::HttpHandler {
 public:
  // `quit` is called by POST /-/quit. All references must outlive it.
  HttpApi(CompileService& service, AdminPages& pages, BazelCache& bazel, CapturesApi& captures,
          std::function<void()> quit);

  boost::asio::awaitable<std::optional<net::HttpReply>> Handle(net::HttpRequest request,
                                                               net::HttpStream& stream) override;

 private:
  boost::asio::awaitable<net::HttpReply> Bazel(const net::HttpRequest& request);
  boost::asio::awaitable<net::HttpReply> Captures(const net::HttpRequest& request);
  boost::asio::awaitable<net::HttpReply> Lookup(const std::string& body);
  boost::asio::awaitable<std::optional<net::HttpReply>> Compile(const std::string& body,
                                                                net::HttpStream& stream);
  boost::asio::awaitable<net::HttpReply> Report(const std::string& body);
  boost::asio::awaitable<net::HttpReply> List(const std::string& body);
  boost::asio::awaitable<net::HttpReply> Inspect(const std::string& body);
  boost::asio::awaitable<net::HttpReply> Explain(const std::string& body);

  CompileService& service_;
  AdminPages& pages_;
  BazelCache& bazel_;
  CapturesApi& captures_;
  std::function<void()> quit_;
};

}  // namespace stoker
