#include "client/core/settings/url.h"

#include <sys/un.h>

#include <charconv>

namespace stoker {
namespace {

constexpr std::string_view kUnixPrefix = "unix:";
constexpr std::string_view kHttpPrefix = "http://";
constexpr std::string_view kHttpsPrefix = "https://";
constexpr std::size_t kMaxSocketPathBytes = sizeof(sockaddr_un::sun_path) - 1;
constexpr std::string_view kOfNumbers = "0123456789abcdefABCDEF:.";
constexpr std::string_view kOfNames =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";

// A name, an IPv4 address, or an IPv6 address in brackets, which `host` gets without them.
bool TakeHost(std::string_view text, std::string* host) {
  const bool in_brackets = text.starts_with('[') && text.ends_with(']');
  if (in_brackets) text = text.substr(1, text.size() - 2);
  *host = text;
  const bool has_colon = text.find(':') != std::string_view::npos;
  return !text.empty() && has_colon == in_brackets &&
         text.find_first_not_of(in_brackets ? kOfNumbers : kOfNames) == std::string_view::npos;
}

}  // namespace

Result<DaemonUrl> DaemonUrl::Parse(std::string_view text) {
  DaemonUrl url;
  if (text.starts_with(kUnixPrefix)) {
    url.scheme = Scheme::kUnix;
    url.path = text.substr(kUnixPrefix.size());
    if (url.path.empty() || url.path.front() != '/') {
      return InvalidArgument("Daemon URL '" + std::string(text) +
                             "' needs an absolute path after 'unix:'.");
    }
    if (url.path.size() > kMaxSocketPathBytes) {
      return InvalidArgument("Socket path '" + url.path + "' has " +
                             std::to_string(url.path.size()) + " bytes; the system's limit is " +
                             std::to_string(kMaxSocketPathBytes) + ".");
    }
    return url;
  }
  const bool is_tls = text.starts_with(kHttpsPrefix);
  if (is_tls || text.starts_with(kHttpPrefix)) {
    url.scheme = is_tls ? Scheme::kHttps : Scheme::kHttp;
    std::string_view rest = text.substr((is_tls ? kHttpsPrefix : kHttpPrefix).size());
    if (rest.ends_with('/')) rest.remove_suffix(1);
    const std::size_t colon = rest.rfind(':');
    if (colon == std::string_view::npos || !TakeHost(rest.substr(0, colon), &url.host)) {
      return InvalidArgument("Daemon URL '" + std::string(text) +
                             "' needs a host and a port: 'http://127.0.0.1:8471'.");
    }
    const std::string_view port = rest.substr(colon + 1);
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), url.port);
    if (error != std::errc() || end != port.data() + port.size() || url.port == 0) {
      return InvalidArgument("Port '" + std::string(port) + "' in daemon URL '" +
                             std::string(text) + "' is not a number from 1 to 65535.");
    }
    return url;
  }
  return InvalidArgument("Daemon URL '" + std::string(text) +
                         "' starts with none of 'unix:', 'http://', 'https://'.");
}

std::string DaemonUrl::ToString() const {
  switch (scheme) {
    case Scheme::kUnix:
      return std::string(kUnixPrefix) + path;
    case Scheme::kHttp:
      return std::string(kHttpPrefix) + Authority();
    case Scheme::kHttps:
      return std::string(kHttpsPrefix) + Authority();
  }
  return "";
}

std::string DaemonUrl::Authority() const {
  if (scheme == Scheme::kUnix) return "localhost";
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return (is_ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

}  // namespace stoker
