#include "daemon/net/foreign_page.h"

#include <string>

namespace stoker::net {
namespace {

// With or without a port.
bool IsNameOfThisHost(const std::string& host) {
  if (host.empty() || host == "::1") return true;
  const std::string name = host.substr(0, host.find(':', host.find(']') + 1));
  return name == "localhost" || name == "127.0.0.1" || name == "[::1]";
}

}  // namespace

std::optional<Error> RefusalOfForeignPage(const HttpRequest& request) {
  if (request.peer.over_tcp && !IsNameOfThisHost(request.host)) {
    return FailedPrecondition("Header 'Host' is '" + request.host +
                              "'; this daemon is localhost, 127.0.0.1 or [::1].");
  }
  if (!request.origin || *request.origin == "http://" + request.host) return std::nullopt;
  return FailedPrecondition("Header 'Origin' names another site: " + *request.origin + ".");
}

}  // namespace stoker::net
