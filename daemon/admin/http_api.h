// HttpApi: the routes, and what may be asked by whom. Decodes requests, calls the service, encodes
// answers; nothing else.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "daemon/access/access_control.h"
#include "daemon/admin/api/bazel_cache.h"
#include "daemon/admin/api/captures_api.h"
#include "daemon/admin/api/entries_api.h"
#include "daemon/admin/api/observe_api.h"
#include "daemon/admin/api/upkeep_api.h"
#include "daemon/admin/dashboard/dashboard.h"
#include "daemon/admin/pages/admin_pages.h"
#include "daemon/admin/pages/request_metrics.h"
#include "daemon/net/http/http.h"
#include "daemon/service/compile_service.h"

namespace stoker {

class HttpApi : public net::HttpHandler {
 public:
  // `quit` is called by POST /-/quit. All references must outlive it.
  HttpApi(const AccessControl& access, CompileService& service, AdminPages& pages,
          stoker::Dashboard& dashboard, BazelCache& bazel, CapturesApi& captures,
          EntriesApi& entries, UpkeepApi& upkeep, RequestMetrics& metrics,
          std::function<void()> quit);

  // The names under which requests are counted, for RequestMetrics.
  static std::vector<std::string> RouteNames();

  boost::asio::awaitable<std::optional<net::HttpReply>> Handle(net::HttpRequest request,
                                                               net::HttpStream& stream) override;
  Admission Admit(const net::HttpRequest& header) override;
  bool IsUrgent(std::string_view path) const override;

 private:
  // One request, and what its sender may do.
  struct Call {
    const net::HttpRequest& request;
    const Grant& grant;
    net::HttpStream& stream;
  };
  using Answer = boost::asio::awaitable<std::optional<net::HttpReply>>;  // As Handle's.
  struct Route;

  static std::span<const Route> Routes();
  static std::size_t PlaceOf(const Route* route);
  static const Route* Find(std::string_view method, std::string_view path);

  // What the sender may do there, or how the request is refused.
  std::variant<Grant, net::HttpReply> GrantOf(const Route* route,
                                              const net::HttpRequest& request) const;
  Answer Dispatch(const Route& route, const net::HttpRequest& request, net::HttpStream& stream);

  Answer Bazel(const Call& call);
  Answer Captures(const Call& call);
  Answer Upkeep(const Call& call);
  Answer Entries(const Call& call);
  Answer Hello(const Call& call);
  Answer Healthy(const Call& call);
  Answer Ready(const Call& call);
  Answer Status(const Call& call);
  Answer Metrics(const Call& call);
  Answer Dashboard(const Call& call);
  Answer Quit(const Call& call);
  Answer Lookup(const Call& call);
  Answer Compile(const Call& call);
  Answer Report(const Call& call);
  Answer List(const Call& call);
  Answer Inspect(const Call& call);
  Answer Explain(const Call& call);
  Answer Misses(const Call& call);
  Answer Trace(const Call& call);

  const AccessControl& access_;
  CompileService& service_;
  AdminPages& pages_;
  stoker::Dashboard& dashboard_;
  BazelCache& bazel_;
  CapturesApi& captures_;
  EntriesApi& entries_;
  UpkeepApi& upkeep_;
  ObserveApi observe_;
  RequestMetrics& metrics_;
  std::function<void()> quit_;
};

}  // namespace stoker
