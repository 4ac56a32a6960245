#include "daemon/net/http/foreign_page.h"

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
  // Over TLS the name is one of the certificate's, or a browser would not have asked; what other
  // hosts call this one in clear cannot be known.
  const Peer& peer = request.peer;
  if (peer.over_tcp && !peer.over_tls && !peer.over_network && !IsNameOfThisHost(request.host)) {
    return FailedPrecondition("Header 'Host' is '" + request.host +
                              "'; this daemon is localhost or a loopback address.");
  }
  const std::string own = (peer.over_tls ? "https://" : "http://") + request.host;
  if (!request.origin || *request.origin == own) return std::nullopt;
  return FailedPrecondition("Header 'Origin' names another site: " + *request.origin + ".");
}

}  // namespace stoker::net
