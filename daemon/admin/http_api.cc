#include "daemon/admin/http_api.h"

#include <unistd.h>

#include "compiler/compile.h"
#include "daemon/admin/version.h"
#include "protocol/wire/framing.h"
#include "protocol/wire/limits.h"
#include "protocol/wire/messages.h"

namespace stoker {
namespace {

namespace asio = boost::asio;
using net::HttpReply;
using net::HttpRequest;
using net::HttpStream;

constexpr int kRetryAfterSeconds = 2;

// The table of WIRE.md.
int HttpStatusOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kDataLoss:
      return 400;
    case ErrorCode::kNotFound:
      return 404;
    case ErrorCode::kFailedPrecondition:
      return 409;
    case ErrorCode::kUnimplemented:
      return 422;
    case ErrorCode::kResourceExhausted:
      return 413;
    case ErrorCode::kUnavailable:
      return 503;
    case ErrorCode::kDeadlineExceeded:
      return 504;
    case ErrorCode::kInternal:
      return 500;
  }
  return 500;
}

HttpReply ReplyOf(const Error& error) {
  HttpReply reply;
  reply.status = HttpStatusOf(error.code);
  reply.body = wire::EncodeErrorReply(wire::ErrorReplyOf(error));
  if (reply.status == 503) reply.retry_after_s = kRetryAfterSeconds;
  return reply;
}

HttpReply ReplyOf(std::string body) {
  HttpReply reply;
  reply.body = std::move(body);
  return reply;
}

HttpReply NoSuchRoute(const HttpRequest& request) {
  return ReplyOf(NotFound("No route for " + request.method + " " + request.path + "."));
}

HttpReply HelloReply() {
  wire::Hello hello;
  hello.protocol_version = wire::kProtocolVersion;
  hello.daemon_version = kDaemonVersion;
  hello.compiler_epoch = CompilerEpoch();
  hello.pid = static_cast<std::uint64_t>(getpid());
  hello.target_kinds = {"cpu"};
  return ReplyOf(wire::EncodeHello(hello));
}

}  // namespace

HttpApi::HttpApi(CompileService& service, AdminPages& pages, BazelCache& bazel,
                 CapturesApi& captures, std::function<void()> quit)
    : service_(service),
      pages_(pages),
      bazel_(bazel),
      captures_(captures),
      quit_(std::move(quit)) {}

asio::awaitable<std::optional<HttpReply>> HttpApi::Handle(HttpRequest request, HttpStream& stream) {
  const std::string& path = request.path;
  // Looking at the daemon does not keep it from being idle.
  if (path.starts_with("/v1/") || BazelCache::Owns(path)) pages_.CountRequest();
  if (BazelCache::Owns(path)) co_return co_await Bazel(request);
  if (CapturesApi::Owns(path)) co_return co_await Captures(request);
  if (request.method == "GET" || request.method == "HEAD") {
    if (path == "/v1/hello") co_return HelloReply();
    if (path == "/-/healthy") co_return pages_.Healthy();
    if (path == "/-/ready") co_return pages_.Ready();
    if (path == "/status") co_return co_await pages_.Status();
    if (path == "/metrics") co_return co_await pages_.Metrics();
    if (path == "/") co_return pages_.Dashboard();
  } else if (request.method == "POST") {
    if (path == "/v1/lookup") co_return co_await Lookup(request.body);
    if (path == "/v1/compile") co_return co_await Compile(request.body, stream);
    if (path == "/v1/report") co_return co_await Report(request.body);
    if (path == "/v1/list") co_return co_await List(request.body);
    if (path == "/v1/inspect") co_return co_await Inspect(request.body);
    if (path == "/v1/explain") co_return co_await Explain(request.body);
    if (path == "/-/quit") {
      quit_();
      HttpReply reply;
      reply.status = 202;
      co_return reply;
    }
  }
  co_return NoSuchRoute(request);
}

asio::awaitable<HttpReply> HttpApi::Bazel(const HttpRequest& request) {
  auto body = co_await bazel_.Handle(request);
  if (!body.ok()) co_return ReplyOf(body.error());
  HttpReply reply = ReplyOf(*std::move(body));
  reply.content_type = "application/octet-stream";
  co_return reply;
}

asio::awaitable<HttpReply> HttpApi::Captures(const HttpRequest& request) {
  auto reply = co_await captures_.Handle(request);
  co_return reply.ok() ? *std::move(reply) : ReplyOf(reply.error());
}

asio::awaitable<HttpReply> HttpApi::Lookup(const std::string& body) {
  auto request = wire::DecodeLookupRequest(body);
  if (!request.ok()) co_return ReplyOf(request.error());
  const auto answer = co_await service_.Lookup(*std::move(request));
  if (!answer.ok()) co_return ReplyOf(answer.error());
  if (const auto* bundle = std::get_if<wire::Bundle>(&*answer)) {
    co_return ReplyOf(wire::EncodeBundle(*bundle));
  }
  HttpReply reply = ReplyOf(wire::EncodeMiss(std::get<wire::Miss>(*answer)));
  reply.status = 404;
  co_return reply;
}

asio::awaitable<std::optional<HttpReply>> HttpApi::Compile(const std::string& body,
                                                           HttpStream& stream) {
  auto call = wire::DecodeCompileCall(body);
  if (!call.ok()) co_return ReplyOf(call.error());
  bool sent = false;
  const CompileService::Send send =
      [&](const wire::CompileEvent& event) -> asio::awaitable<Status> {
    std::string frame;
    wire::AppendFrame(wire::EncodeCompileEvent(event), &frame);
    sent = true;
    co_return co_await stream.Send(frame);
  };
  const Status status = co_await service_.Compile(*std::move(call), send);
  if (!sent && !status.ok()) co_return ReplyOf(status.error());
  co_return std::nullopt;
}

asio::awaitable<HttpReply> HttpApi::Report(const std::string& body) {
  const auto report = wire::DecodeReport(body);
  if (!report.ok()) co_return ReplyOf(report.error());
  service_.Report(*report);
  HttpReply reply;
  reply.status = 204;
  co_return reply;
}

asio::awaitable<HttpReply> HttpApi::List(const std::string& body) {
  auto request = wire::DecodeListRequest(body);
  if (!request.ok()) co_return ReplyOf(request.error());
  const auto answer = co_await service_.List(*std::move(request));
  co_return answer.ok() ? ReplyOf(wire::EncodeListReply(*answer)) : ReplyOf(answer.error());
}

asio::awaitable<HttpReply> HttpApi::Inspect(const std::string& body) {
  auto request = wire::DecodeInspectRequest(body);
  if (!request.ok()) co_return ReplyOf(request.error());
  const auto answer = co_await service_.Inspect(*std::move(request));
  co_return answer.ok() ? ReplyOf(wire::EncodeInspectReply(*answer)) : ReplyOf(answer.error());
}

asio::awaitable<HttpReply> HttpApi::Explain(const std::string& body) {
  auto request = wire::DecodeExplainRequest(body);
  if (!request.ok()) co_return ReplyOf(request.error());
  const auto answer = co_await service_.Explain(*std::move(request));
  co_return answer.ok() ? ReplyOf(wire::EncodeExplainReply(*answer)) : ReplyOf(answer.error());
}

}  // namespace stoker
