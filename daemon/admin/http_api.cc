#include "daemon/admin/http_api.h"

#include <unistd.h>

#include <algorithm>

#include "compiler/compile.h"
#include "daemon/admin/reply/replies.h"
#include "daemon/admin/reply/version.h"
#include "protocol/wire/limits.h"
#include "protocol/wire/messages.h"

namespace stoker {
namespace {

namespace asio = boost::asio;
using net::HttpReply;
using net::HttpRequest;
using net::HttpStream;

// Of requests that need no body, and of those that anybody may send.
constexpr std::size_t kMaxIdleBodyBytes = std::size_t{64} << 10;

Caller CallerOf(const HttpRequest& request) { return {request.id, request.job}; }

HttpReply HelloReply(const CompileService& service) {
  wire::Hello hello;
  hello.protocol_version = wire::kProtocolVersion;
  hello.daemon_version = kDaemonVersion;
  hello.compiler_epoch = CompilerEpoch();
  hello.pid = static_cast<std::uint64_t>(getpid());
  if (auto ready = service.workers().ready()) hello.target_kinds = std::move(ready->target_kinds);
  hello.signing_keys = service.signing_keys();
  return ReplyOf(wire::EncodeHello(hello));
}

}  // namespace

// What there is to ask. A path that ends in '/' stands for all below it.
struct HttpApi::Route {
  std::string_view method;  // Empty: the handler looks at it. "GET" is HEAD, too.
  std::string_view path;
  std::optional<Scope>
      scope;     // Needed in some namespace; the handler asks for the namespace's own.
  bool is_work;  // Looking at the daemon does not keep it from being idle.
  Answer (HttpApi::*handler)(const Call&);
};

std::span<const HttpApi::Route> HttpApi::Routes() {
  static constexpr Route kRoutes[] = {
      {"GET", "/-/healthy", std::nullopt, false, &HttpApi::Healthy},
      {"GET", "/-/ready", std::nullopt, false, &HttpApi::Ready},
      {"POST", "/-/quit", Scope::kAdmin, false, &HttpApi::Quit},
      {"", "/cas/", Scope::kRead, true, &HttpApi::Bazel},
      {"", "/ac/", Scope::kRead, true, &HttpApi::Bazel},
      {"GET", "/v1/hello", Scope::kRead, true, &HttpApi::Hello},
      {"POST", "/v1/lookup", Scope::kRead, true, &HttpApi::Lookup},
      {"POST", "/v1/compile", Scope::kWrite, true, &HttpApi::Compile},
      {"POST", "/v1/report", Scope::kRead, true, &HttpApi::Report},
      {"POST", "/v1/list", Scope::kRead, true, &HttpApi::List},
      {"POST", "/v1/inspect", Scope::kRead, true, &HttpApi::Inspect},
      {"POST", "/v1/explain", Scope::kRead, true, &HttpApi::Explain},
      {"GET", "/v1/misses", Scope::kRead, false, &HttpApi::Misses},
      {"GET", "/v1/traces/", Scope::kRead, false, &HttpApi::Trace},
      {"", "/v1/captures/", Scope::kRead, true, &HttpApi::Captures},
      {"", "/v1/cache/", Scope::kRead, true, &HttpApi::Upkeep},
      {"", "/v1/entries/", Scope::kRead, true, &HttpApi::Entries},
      {"GET", "/status", Scope::kRead, false, &HttpApi::Status},
      {"GET", "/metrics", Scope::kRead, false, &HttpApi::Metrics},
      {"GET", "/", Scope::kRead, false, &HttpApi::Dashboard},
      {"GET", "/dashboard/", Scope::kRead, false, &HttpApi::Dashboard},
  };
  return kRoutes;
}

HttpApi::HttpApi(const AccessControl& access, CompileService& service, AdminPages& pages,
                 stoker::Dashboard& dashboard, BazelCache& bazel, CapturesApi& captures,
                 EntriesApi& entries, UpkeepApi& upkeep, RequestMetrics& metrics,
                 std::function<void()> quit)
    : access_(access),
      service_(service),
      pages_(pages),
      dashboard_(dashboard),
      bazel_(bazel),
      captures_(captures),
      entries_(entries),
      upkeep_(upkeep),
      observe_(service),
      metrics_(metrics),
      quit_(std::move(quit)) {}

std::vector<std::string> HttpApi::RouteNames() {
  std::vector<std::string> names;
  for (const Route& route : Routes()) names.emplace_back(route.path);
  names.emplace_back("none");
  return names;
}

const HttpApi::Route* HttpApi::Find(std::string_view method, std::string_view path) {
  const auto fits = [&](const Route& route) {
    const bool same_path =
        path == route.path ||
        (route.path.size() > 1 && route.path.ends_with('/') && path.starts_with(route.path));
    return same_path && (route.method.empty() || method == route.method ||
                         (method == "HEAD" && route.method == "GET"));
  };
  const auto it = std::find_if(Routes().begin(), Routes().end(), fits);
  return it == Routes().end() ? nullptr : &*it;
}

bool HttpApi::IsUrgent(std::string_view path) const {
  return path == "/-/healthy" || path == "/-/ready";
}

std::size_t HttpApi::PlaceOf(const Route* route) {
  return route == nullptr ? Routes().size() : static_cast<std::size_t>(route - Routes().data());
}

std::variant<Grant, HttpReply> HttpApi::GrantOf(const Route* route,
                                                const HttpRequest& request) const {
  if (route == nullptr) {
    return ReplyOf(NotFound("No route for " + request.method + " " + request.path + "."));
  }
  if (!route->scope) return Grant::Nothing("Anybody");
  auto grant = access_.GrantOf(request);
  if (!grant.ok()) return AccessReplyOf(grant.error(), /*is_known=*/false);
  if (const auto allowed = grant->Require(*route->scope); !allowed.ok()) {
    const bool is_known = request.peer.is_known() || request.authorization;
    return AccessReplyOf(allowed.error(), is_known);
  }
  return *std::move(grant);
}

HttpApi::Admission HttpApi::Admit(const HttpRequest& header) {
  const Route* route = Find(header.method, header.path);
  auto grant = GrantOf(route, header);
  if (auto* refusal = std::get_if<HttpReply>(&grant)) {
    metrics_.Record(PlaceOf(route), refusal->status, std::chrono::nanoseconds(0));
    return {.refusal = std::move(*refusal)};
  }
  const bool has_input = header.method == "POST" || header.method == "PUT";
  Admission admission;
  if (!has_input || !route->scope) admission.max_body_bytes = kMaxIdleBodyBytes;
  return admission;
}

HttpApi::Answer HttpApi::Handle(HttpRequest request, HttpStream& stream) {
  const auto start = std::chrono::steady_clock::now();
  const Route* route = Find(request.method, request.path);
  STOKER_CHECK(route != nullptr);  // It was admitted.
  auto reply = co_await Dispatch(*route, request, stream);
  metrics_.Record(PlaceOf(route), reply ? reply->status : 200,
                  std::chrono::steady_clock::now() - start);
  co_return reply;
}

HttpApi::Answer HttpApi::Dispatch(const Route& route, const HttpRequest& request,
                                  HttpStream& stream) {
  // Again: the tokens may be others by now.
  auto grant = GrantOf(&route, request);
  if (auto* refusal = std::get_if<HttpReply>(&grant)) co_return std::move(*refusal);
  if (route.is_work) pages_.CountRequest();
  const Call call{request, std::get<Grant>(grant), stream};
  co_return co_await (this->*route.handler)(call);
}

HttpApi::Answer HttpApi::Hello(const Call& /*call*/) { co_return HelloReply(service_); }
HttpApi::Answer HttpApi::Healthy(const Call& /*call*/) { co_return pages_.Healthy(); }
HttpApi::Answer HttpApi::Ready(const Call& /*call*/) { co_return pages_.Ready(); }
HttpApi::Answer HttpApi::Status(const Call& call) {
  co_return co_await pages_.Status(call.request.query, call.grant);
}
HttpApi::Answer HttpApi::Metrics(const Call& /*call*/) { co_return co_await pages_.Metrics(); }
HttpApi::Answer HttpApi::Dashboard(const Call& call) {
  co_return co_await dashboard_.Handle(call.request, call.grant);
}

HttpApi::Answer HttpApi::Quit(const Call& call) {
  if (const stoker::Status status = call.grant.RequireEverywhere(Scope::kAdmin); !status.ok()) {
    co_return AccessReplyOf(status.error(), /*is_known=*/true);
  }
  quit_();
  HttpReply reply;
  reply.status = 202;
  co_return reply;
}

HttpApi::Answer HttpApi::Bazel(const Call& call) {
  const Scope scope = call.request.method == "PUT" ? Scope::kWrite : Scope::kRead;
  if (auto refusal = RefusalOf(call.grant, scope, kBazelNamespace)) co_return refusal;
  co_return co_await bazel_.Handle(call.request);
}

HttpApi::Answer HttpApi::Captures(const Call& call) {
  co_return co_await captures_.Handle(call.request, call.grant);
}

HttpApi::Answer HttpApi::Upkeep(const Call& call) {
  co_return co_await upkeep_.Handle(call.request, call.grant, call.stream);
}

HttpApi::Answer HttpApi::Entries(const Call& call) {
  co_return co_await entries_.Handle(call.request, call.grant);
}

HttpApi::Answer HttpApi::Misses(const Call& call) {
  co_return co_await observe_.Misses(call.request, call.grant);
}

HttpApi::Answer HttpApi::Trace(const Call& call) {
  co_return co_await observe_.Trace(call.request, call.grant);
}

HttpApi::Answer HttpApi::Lookup(const Call& call) {
  auto request = wire::DecodeLookupRequest(call.request.body);
  if (!request.ok()) co_return ReplyOf(request.error());
  if (auto refusal = RefusalOf(call.grant, Scope::kRead, request->ns)) co_return refusal;
  const auto answer = co_await service_.Lookup(*std::move(request), CallerOf(call.request));
  if (!answer.ok()) co_return ReplyOf(answer.error());
  if (const auto* bundle = std::get_if<wire::Bundle>(&*answer)) {
    co_return ReplyOf(wire::EncodeBundle(*bundle));
  }
  HttpReply reply = ReplyOf(wire::EncodeMiss(std::get<wire::Miss>(*answer)));
  reply.status = 404;
  co_return reply;
}

HttpApi::Answer HttpApi::Compile(const Call& call) {
  auto request = wire::DecodeCompileCall(call.request.body);
  if (!request.ok()) co_return ReplyOf(request.error());
  if (auto refusal = RefusalOf(call.grant, Scope::kWrite, request->ns)) co_return refusal;
  bool sent = false;
  const CompileService::Send send = [&](std::string_view frame) -> asio::awaitable<stoker::Status> {
    sent = true;
    co_return co_await call.stream.Send(frame);
  };
  const stoker::Status status =
      co_await service_.Compile(*std::move(request), CallerOf(call.request), send);
  if (!sent && !status.ok()) co_return ReplyOf(status.error());
  co_return std::nullopt;
}

HttpApi::Answer HttpApi::Report(const Call& call) {
  const auto report = wire::DecodeReport(call.request.body);
  if (!report.ok()) co_return ReplyOf(report.error());
  if (auto refusal = RefusalOf(call.grant, Scope::kRead, report->ns)) co_return refusal;
  service_.Report(*report);
  co_return NoContent();
}

HttpApi::Answer HttpApi::List(const Call& call) {
  auto request = wire::DecodeListRequest(call.request.body);
  if (!request.ok()) co_return ReplyOf(request.error());
  if (auto refusal = RefusalOf(call.grant, Scope::kRead, request->ns)) co_return refusal;
  const auto answer = co_await service_.List(*std::move(request));
  co_return answer.ok() ? ReplyOf(wire::EncodeListReply(*answer)) : ReplyOf(answer.error());
}

HttpApi::Answer HttpApi::Inspect(const Call& call) {
  auto request = wire::DecodeInspectRequest(call.request.body);
  if (!request.ok()) co_return ReplyOf(request.error());
  if (auto refusal = RefusalOf(call.grant, Scope::kRead, request->ns)) co_return refusal;
  const auto answer = co_await service_.Inspect(*std::move(request), CallerOf(call.request));
  co_return answer.ok() ? ReplyOf(wire::EncodeInspectReply(*answer)) : ReplyOf(answer.error());
}

HttpApi::Answer HttpApi::Explain(const Call& call) {
  auto request = wire::DecodeExplainRequest(call.request.body);
  if (!request.ok()) co_return ReplyOf(request.error());
  if (auto refusal = RefusalOf(call.grant, Scope::kRead, request->ns)) co_return refusal;
  const auto answer = co_await service_.Explain(*std::move(request));
  co_return answer.ok() ? ReplyOf(wire::EncodeExplainReply(*answer)) : ReplyOf(answer.error());
}

}  // namespace stoker
