#include "client/core/trust/daemon_trust.h"

#include <netinet/in.h>
#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <vector>

#include "client/core/settings/environment.h"
#include "protocol/base/host/regular_file.h"
#include "protocol/base/host/socket_user.h"
#include "protocol/base/signature/public_key_list.h"

namespace stoker {
namespace {

constexpr std::size_t kMaxTokenBytes = 4096;
constexpr std::size_t kMaxTokenFileBytes = 64 << 10;

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
    auto text = ReadRegularFile("Token file", path, kMaxTokenFileBytes);
    if (!text.ok()) return text.error().WithContext(variable);
    token = text->substr(0, text->find('\n'));
    if (token.empty())
      return InvalidArgument(variable + " is '" + path + "', whose first line is empty.");
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

bool IsTrusted(std::uint32_t uid, const DaemonTrust& trust) {
  return uid == geteuid() || uid == 0 || uid == trust.daemon_uid;
}

}  // namespace

Result<std::vector<PublicKey>> PublicKeysOfEnvironment(const char* variable) {
  const std::string value = Environment(variable);
  if (value.empty()) return std::vector<PublicKey>();
  auto keys = PublicKeysOf(value);
  if (!keys.ok()) return keys.error().WithContext(variable);
  return keys;
}

Result<DaemonTrust> DaemonTrustOfEnvironment() {
  DaemonTrust trust;
  if (const std::string user = Environment("STOKER_DAEMON_USER"); !user.empty()) {
    STOKER_TRY(trust.daemon_uid, UserNamed(user));
  }
  STOKER_TRY(trust.token, TokenOfEnvironment());
  STOKER_TRY(trust.tls, TlsTrustOfEnvironment());
  STOKER_TRY(trust.signers, PublicKeysOfEnvironment("STOKER_SIGNERS"));
  return trust;
}

Status CheckSocketServer(int socket, const std::string& path, const DaemonTrust& trust) {
  const auto server = UserAtOtherEnd(socket);
  if (!server) return FailedPrecondition("Who serves '" + path + "' cannot be told.");
  if (IsTrusted(*server, trust)) return Ok();
  return FailedPrecondition("'" + path + "' is served by user " + std::to_string(*server) +
                            ", who is neither root nor user " + std::to_string(geteuid()) +
                            "; STOKER_DAEMON_USER names another to be trusted.");
}

bool IsServedByTrusted(int socket, const DaemonTrust& trust) {
  const auto server = UserAtOtherEnd(socket);
  return server && IsTrusted(*server, trust);
}

Result<std::vector<PublicKey>> BelievedSigners(const DaemonTrust& trust,
                                               std::span<const PublicKey> announced,
                                               bool is_authenticated, const std::string& url) {
  if (announced.empty()) {
    return FailedPrecondition("The daemon at " + url + " announces no signing key.");
  }
  if (trust.signers.empty() && is_authenticated) {
    return std::vector<PublicKey>(announced.begin(), announced.end());
  }
  if (trust.signers.empty()) {
    return FailedPrecondition("Nothing proves who serves " + url +
                              ", so nothing of it is loaded. It signs with " + ListOf(announced) +
                              ": if that is your daemon's key, set STOKER_SIGNERS to it.");
  }
  const bool is_pinned = std::any_of(announced.begin(), announced.end(), [&](const PublicKey& key) {
    return std::find(trust.signers.begin(), trust.signers.end(), key) != trust.signers.end();
  });
  if (is_pinned) return trust.signers;
  return FailedPrecondition("The daemon at " + url + " signs with " + ListOf(announced) +
                            ", and STOKER_SIGNERS trusts " + ListOf(trust.signers) + ".");
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
