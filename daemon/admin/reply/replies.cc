#include "daemon/admin/reply/replies.h"

#include "daemon/net/http/reply_text.h"

namespace stoker {
namespace {

using net::HttpReply;

constexpr int kRetryAfterSeconds = 2;

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

}  // namespace

HttpReply ReplyOf(const Error& error) {
  const int status = HttpStatusOf(error.code);
  return net::ErrorReplyFor(status, error, status == 503 ? kRetryAfterSeconds : 0);
}

HttpReply ReplyOf(std::string body) {
  HttpReply reply;
  reply.body = std::move(body);
  return reply;
}

HttpReply JsonReply(std::string text) {
  HttpReply reply = ReplyOf(std::move(text));
  reply.content_type = "application/json";
  return reply;
}

HttpReply NoContent() {
  HttpReply reply;
  reply.status = 204;
  return reply;
}

HttpReply StorageReplyOf(const Error& error) {
  HttpReply reply = ReplyOf(error);
  if (error.code == ErrorCode::kResourceExhausted) reply.status = 507;
  return reply;
}

HttpReply AccessReplyOf(const Error& error, bool is_known) {
  HttpReply reply = ReplyOf(error);
  reply.status = is_known ? 403 : 401;
  if (!is_known) reply.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"stoker\"");
  return reply;
}

std::optional<HttpReply> RefusalOf(const Grant& grant, Scope scope, std::string_view name_space) {
  const Status allowed = grant.Require(scope, name_space);
  if (allowed.ok()) return std::nullopt;
  return AccessReplyOf(allowed.error(), /*is_known=*/true);
}

}  // namespace stoker
