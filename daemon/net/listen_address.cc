#include <sys/un.h>

#include <boost/asio/ip/address.hpp>
#include <charconv>

#include "daemon/net/listener.h"

namespace stoker::net {
namespace {

constexpr std::string_view kUnixPrefix = "unix:";
constexpr std::string_view kHttpPrefix = "http://";
constexpr std::string_view kHttpsPrefix = "https://";
constexpr std::size_t kMaxSocketPathBytes = sizeof(sockaddr_un::sun_path) - 1;

}  // namespace

Result<ListenAddress> ListenAddress::Parse(std::string_view text) {
  ListenAddress address;
  const std::string whole(text);
  if (text.starts_with(kUnixPrefix)) {
    address.path = text.substr(kUnixPrefix.size());
    if (!address.path.starts_with('/')) {
      return InvalidArgument("Listen address '" + whole + "' needs an absolute path.");
    }
    if (address.path.size() > kMaxSocketPathBytes) {
      return InvalidArgument(
          "Socket path '" + address.path + "' has " + std::to_string(address.path.size()) +
          " bytes; the system's limit is " + std::to_string(kMaxSocketPathBytes) + ".");
    }
    return address;
  }
  address.is_unix = false;
  address.is_tls = text.starts_with(kHttpsPrefix);
  if (!address.is_tls && !text.starts_with(kHttpPrefix)) {
    return InvalidArgument("Listen address '" + whole +
                           "' starts with none of 'unix:', 'http://', 'https://'.");
  }
  text.remove_prefix((address.is_tls ? kHttpsPrefix : kHttpPrefix).size());
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return InvalidArgument("Listen address '" + whole + "' has no port.");
  }
  address.host = text.substr(0, colon);
  if (address.host.starts_with('[') && address.host.ends_with(']')) {
    address.host = address.host.substr(1, address.host.size() - 2);
  }
  const std::string_view port = text.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (error != std::errc() || end != port.data() + port.size()) {
    return InvalidArgument("Port '" + std::string(port) + "' in listen address '" + whole +
                           "' is not a number from 0 to 65535.");
  }
  if (address.host == "localhost") address.host = "127.0.0.1";
  boost::system::error_code code;
  boost::asio::ip::make_address(address.host, code);
  if (code) {
    return InvalidArgument("Host '" + address.host + "' in listen address '" + whole +
                           "' is no IP address; 0.0.0.0 and [::] stand for all of this host's.");
  }
  return address;
}

bool ListenAddress::IsOnNetwork() const {
  return !is_unix && !boost::asio::ip::make_address(host).is_loopback();
}

std::string ListenAddress::ToString() const {
  if (is_unix) return std::string(kUnixPrefix) + path;
  const bool is_v6 = host.find(':') != std::string::npos;
  return std::string(is_tls ? kHttpsPrefix : kHttpPrefix) + (is_v6 ? "[" + host + "]" : host) +
         ":" + std::to_string(port);
}

}  // namespace stoker::net
