#include "daemon/admin/replies.h"

#include "protocol/wire/messages.h"

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

}  // namespace stoker
