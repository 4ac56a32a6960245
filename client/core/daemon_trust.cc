#include "client/core/daemon_trust.h"

#include <netinet/in.h>
#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <system_error>
#include <vector>

#include "client/core/environment.h"

namespace stoker {
namespace {

constexpr std::size_t kMaxTokenBytes = 4096;

Result<std::uint32_t> UserNamed(const std::string& text) {
  std::uint32_t uid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), uid);
  if (error == std::errc() && end == text.data() + text.size()) return uid;
  std::vector<char> buffer(16384);
  passwd entry{};
  passwd* found = nullptr;
  if (getpwnam_r(text.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0 ||
      found == nullptr) {
    return InvalidArgument("STOKER_DAEMON_USER is '" + text + "', which is no user of this host.");
  }
  return found->pw_uid;
}

Result<std::string> TokenOfEnvironment() {
  std::string token = Environment("STOKER_TOKEN");
  std::string variable = "STOKER_TOKEN";
  if (token.empty()) {
    const std::string path = Environment("STOKER_TOKEN_FILE");
    if (path.empty()) return token;
    variable = "STOKER_TOKEN_FILE";
    std::ifstream file(path);
    if (!std::getline(file, token)) {
      return InvalidArgument("STOKER_TOKEN_FILE is '" + path + "', which cannot be read.");
    }
  }
  const bool sendable =
      token.size() <= kMaxTokenBytes &&
      std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 0x7F; });
  if (sendable) return token;
  return InvalidArgument(variable + " holds no token: up to " + std::to_string(kMaxTokenBytes) +
                         " printing characters without spaces.");
}

bool IsLoopback(const sockaddr_storage& address) {
  constexpr std::uint8_t kLoopbackNetwork = 127;
  if (address.ss_family == AF_INET) {
    const auto& ip = reinterpret_cast<const sockaddr_in&>(address);
    return ntohl(ip.sin_addr.s_addr) >> 24 == kLoopbackNetwork;
  }
  if (address.ss_family != AF_INET6) return false;
  const in6_addr& ip = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&ip) ||
         (IN6_IS_ADDR_V4MAPPED(&ip) && ip.s6_addr[12] == kLoopbackNetwork);
}

}  // namespace

Result<DaemonTrust> DaemonTrustOfEnvironment() {
  DaemonTrust trust;
  if (const std::string user = Environment("STOKER_DAEMON_USER"); !user.empty()) {
    STOKER_TRY(trust.daemon_uid, UserNamed(user));
  }
  STOKER_TRY(trust.token, TokenOfEnvironment());
  STOKER_TRY(trust.tls, TlsTrustOfEnvironment());
  return trust;
}

Status CheckSocketServer(int socket, const std::string& path, const DaemonTrust& trust) {
  ucred server{};
  socklen_t size = sizeof server;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &server, &size) != 0) {
    return FailedPrecondition("Who serves '" + path +
                              "' cannot be told: " + std::generic_category().message(errno) + ".");
  }
  const uid_t self = geteuid();
  if (server.uid == self || server.uid == 0 || server.uid == trust.daemon_uid) return Ok();
  return FailedPrecondition("'" + path + "' is served by user " + std::to_string(server.uid) +
                            ", who is neither root nor user " + std::to_string(self) +
                            "; STOKER_DAEMON_USER names another to be trusted.");
}

Status CheckTokenStaysHere(int socket, const std::string& url) {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &size) == 0 && IsLoopback(peer)) {
    return Ok();
  }
  return FailedPrecondition("A token is set (STOKER_TOKEN or STOKER_TOKEN_FILE), and " + url +
                            " would carry it in clear to another host.");
}

}  // namespace stoker
