#include "protocol/base/host/file_descriptor.h"

#include <unistd.h>

#include <cerrno>

namespace stoker {

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) close(fd_);
}

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace stoker
