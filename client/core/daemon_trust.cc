#include "client/core/daemon_trust.h"

#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <system_error>
#include <vector>

namespace stoker {
namespace {

constexpr std::size_t kMaxTokenBytes = 4096;

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

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

}  // namespace

Result<DaemonTrust> DaemonTrustOfEnvironment() {
  DaemonTrust trust;
  if (const std::string user = Environment("STOKER_DAEMON_USER"); !user.empty()) {
    STOKER_TRY(trust.daemon_uid, UserNamed(user));
  }
  STOKER_TRY(trust.token, TokenOfEnvironment());
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

}  // namespace stoker
