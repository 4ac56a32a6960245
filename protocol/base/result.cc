#include "protocol/base/result.h"

namespace stoker {

std::string_view ErrorCodeName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid argument";
    case ErrorCode::kNotFound:
      return "not found";
    case ErrorCode::kUnimplemented:
      return "unimplemented";
    case ErrorCode::kResourceExhausted:
      return "resource exhausted";
    case ErrorCode::kUnavailable:
      return "unavailable";
    case ErrorCode::kDeadlineExceeded:
      return "deadline exceeded";
    case ErrorCode::kDataLoss:
      return "data loss";
    case ErrorCode::kFailedPrecondition:
      return "failed precondition";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "unknown";
}

}  // namespace stoker
