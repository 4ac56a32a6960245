#include "daemon/net/foreign_page.h"

#include <boost/asio/ip/address.hpp>
#include <boost/beast/core/string.hpp>
#include <string>

namespace stoker::net {
namespace {

// With or without a port.
bool IsNameOfThisHost(const std::string& host) {
  if (host.empty() || host == "::1") return true;
  std::string name = host.substr(0, host.find(':', host.find(']') + 1));
  if (boost::beast::iequals(name, "localhost")) return true;
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  boost::system::error_code code;
  const auto address = boost::asio::ip::make_address(name, code);
  return !code && address.is_loopback();
}

}  // namespace

std::optional<Error> RefusalOfForeignPage(const HttpRequest& request) {
  if (request.peer.over_tcp && !IsNameOfThisHost(request.host)) {
    return FailedPrecondition("Header 'Host' is '" + request.host +
                              "'; this daemon is localhost or a loopback address.");
  }
  if (!request.origin || *request.origin == "http://" + request.host) return std::nullopt;
  return FailedPrecondition("Header 'Origin' names another site: " + *request.origin + ".");
}

}  // namespace stoker::net
