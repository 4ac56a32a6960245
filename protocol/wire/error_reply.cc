#include "protocol/wire/messages.h"

namespace stoker::wire {

ErrorReply ErrorReplyOf(const Error& error) {
  ErrorReply reply{error.code, error.message, ""};
  constexpr std::string_view kOpening = "Field '";
  const std::size_t start = error.message.find(kOpening);
  if (start == std::string::npos) return reply;
  const std::size_t name = start + kOpening.size();
  const std::size_t end = error.message.find('\'', name);
  if (end != std::string::npos) reply.field = error.message.substr(name, end - name);
  return reply;
}

Error ErrorOf(const ErrorReply& reply) { return Error{reply.code, reply.message}; }

}  // namespace stoker::wire
