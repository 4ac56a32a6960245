#include "daemon/service/failure/compile_failure.h"

#include <utility>

#include "protocol/wire/messages.h"
#include "protocol/wire/proto/utf8.h"

namespace stoker {
namespace {

FailureClass ClassOf(const Error& error) {
  switch (error.code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kUnimplemented:
    case ErrorCode::kDataLoss:
      return FailureClass::kDiagnostic;
    case ErrorCode::kResourceExhausted:
      // A limit of the request's own fields, or the memory of the worker.
      return wire::ErrorReplyOf(error).field.empty() ? FailureClass::kMemory
                                                     : FailureClass::kDiagnostic;
    case ErrorCode::kFailedPrecondition:
      return FailureClass::kHost;
    case ErrorCode::kNotFound:
    case ErrorCode::kUnavailable:
    case ErrorCode::kDeadlineExceeded:
    case ErrorCode::kInternal:
      return FailureClass::kInternal;
  }
  return FailureClass::kInternal;
}

}  // namespace

std::string_view Name(FailureClass failure_class) {
  switch (failure_class) {
    case FailureClass::kDiagnostic:
      return "diagnostic";
    case FailureClass::kMemory:
      return "memory";
    case FailureClass::kTimeout:
      return "timeout";
    case FailureClass::kCrash:
      return "crash";
    case FailureClass::kIo:
      return "io";
    case FailureClass::kHost:
      return "host";
    case FailureClass::kInternal:
      return "internal";
  }
  return "internal";
}

CompileFailure FailureOfWorker(Error error) {
  if (error.message.size() > kMaxFailureMessageBytes) {
    error.message = wire::ToValidUtf8(error.message.substr(0, kMaxFailureMessageBytes)) + " ...";
  }
  const FailureClass failure_class = ClassOf(error);
  // A worker has no other codes to say, and clients act on them.
  if (failure_class == FailureClass::kInternal) error.code = ErrorCode::kInternal;
  if (failure_class == FailureClass::kHost) error.code = ErrorCode::kUnimplemented;
  return {failure_class, std::move(error)};
}

}  // namespace stoker
