// Result<T>: a value or an Error. Errors carry a code that says what the caller should do and a
// message that names the value and the limit. Context is added once per layer with WithContext.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "protocol/base/check.h"

namespace stoker {

enum class ErrorCode {
  kInvalidArgument,     // The input is wrong; do not retry.
  kNotFound,            // Nothing is stored under this name.
  kUnimplemented,       // A well-formed request for something this build does not do.
  kResourceExhausted,   // A named limit was reached; retry later or with less.
  kUnavailable,         // The peer is not there; retry or fall back.
  kDeadlineExceeded,    // The operation took longer than its limit.
  kDataLoss,            // Bytes are damaged: digest or checksum does not match.
  kFailedPrecondition,  // The state of the system forbids it (version, permission, draining).
  kInternal,            // Our bug.
};

std::string_view ErrorCodeName(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;

  // The same error with "context: " in front of its message.
  [[nodiscard]] Error WithContext(std::string_view context) const {
    return Error{code, std::string(context) + ": " + message};
  }
};

inline Error InvalidArgument(std::string m) { return {ErrorCode::kInvalidArgument, std::move(m)}; }
inline Error NotFound(std::string m) { return {ErrorCode::kNotFound, std::move(m)}; }
inline Error Unimplemented(std::string m) { return {ErrorCode::kUnimplemented, std::move(m)}; }
inline Error ResourceExhausted(std::string m) {
  return {ErrorCode::kResourceExhausted, std::move(m)};
}
inline Error Unavailable(std::string m) { return {ErrorCode::kUnavailable, std::move(m)}; }
inline Error DeadlineExceeded(std::string m) {
  return {ErrorCode::kDeadlineExceeded, std::move(m)};
}
inline Error DataLoss(std::string m) { return {ErrorCode::kDataLoss, std::move(m)}; }
inline Error FailedPrecondition(std::string m) {
  return {ErrorCode::kFailedPrecondition, std::move(m)};
}
inline Error Internal(std::string m) { return {ErrorCode::kInternal, std::move(m)}; }

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // Requires ok().
  T& value() & {
    STOKER_CHECK(ok());
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    STOKER_CHECK(ok());
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    STOKER_CHECK(ok());
    return std::move(*std::get_if<0>(&state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  // Requires !ok().
  const Error& error() const {
    STOKER_CHECK(!ok());
    return *std::get_if<1>(&state_);
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const {
    STOKER_CHECK(!ok());
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;
inline Status Ok() { return {}; }

}  // namespace stoker

#define STOKER_CONCAT_INNER(a, b) a##b
#define STOKER_CONCAT(a, b) STOKER_CONCAT_INNER(a, b)

// Returns the error of `expr` (a Result of any type) from the enclosing function.
#define STOKER_RETURN_IF_ERROR(expr)                                                       \
  do {                                                                                     \
    if (auto stoker_status_ = (expr); !stoker_status_.ok()) return stoker_status_.error(); \
  } while (false)

// STOKER_TRY(auto x, F()); declares x from the value of F() or returns its error.
#define STOKER_TRY(declaration, expr) \
  STOKER_TRY_INNER(STOKER_CONCAT(stoker_result_, __LINE__), declaration, expr)
#define STOKER_TRY_INNER(result, declaration, expr) \
  auto result = (expr);                             \
  if (!result.ok()) return result.error();          \
  declaration = std::move(result).value()
