#include "daemon/net/socket_claim.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace stoker::net {
namespace {

bool SomebodyListens(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int result = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const bool listens = result == 0 || errno == EAGAIN;  // EAGAIN: its backlog is full.
  close(fd);
  return listens;
}

}  // namespace

Result<std::unique_ptr<SocketClaim>> SocketClaim::Take(const std::string& path) {
  const std::string lock_path = path + ".lock";
  const int fd = open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) {
    return FailedPrecondition("Lock file '" + lock_path + "' cannot be opened: " +
                              std::generic_category().message(errno) + ".");
  }
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    close(fd);
    return FailedPrecondition("Another daemon holds '" + lock_path + "'.");
  }
  struct stat status {};
  const bool exists = lstat(path.c_str(), &status) == 0;
  std::string why;
  if (exists && !S_ISSOCK(status.st_mode)) {
    why = "'" + path + "' is there and is no socket.";
  } else if (exists && SomebodyListens(path)) {
    why = "Somebody listens on '" + path + "'.";
  }
  if (!why.empty()) {
    close(fd);
    return FailedPrecondition(why);
  }
  unlink(path.c_str());
  return std::unique_ptr<SocketClaim>(new SocketClaim(path, fd));
}

SocketClaim::~SocketClaim() {
  unlink(path_.c_str());
  close(fd_);
}

}  // namespace stoker::net
