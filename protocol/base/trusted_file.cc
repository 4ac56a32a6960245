#include "protocol/base/trusted_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "protocol/base/file_descriptor.h"

namespace stoker {
namespace {

std::string ErrnoText() { return std::generic_category().message(errno); }

Status CheckAccess(const std::string& name, const struct stat& status, Secrecy secrecy) {
  const uid_t self = geteuid();
  if (!S_ISREG(status.st_mode) || (status.st_uid != 0 && status.st_uid != self) ||
      (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return FailedPrecondition(name + " is no file that root or user " + std::to_string(self) +
                              " alone may write to.");
  }
  if (secrecy == Secrecy::kPublic) return Ok();
  const bool group_reads = (status.st_mode & S_IRGRP) != 0;
  if ((status.st_mode & S_IROTH) != 0 || (group_reads && status.st_uid != 0)) {
    return FailedPrecondition(name +
                              " may be read by others; mode 0600 is expected, or 0640 where it is "
                              "root's.");
  }
  return Ok();
}

}  // namespace

FileVersion VersionOf(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return {};
  return {std::int64_t{status.st_ctim.tv_sec} * 1000000000 + status.st_ctim.tv_nsec, status.st_ino,
          status.st_size, status.st_mode};
}

Result<std::string> ReadTrustedFile(std::string_view what, const std::string& path,
                                    std::size_t max_bytes, Secrecy secrecy) {
  const std::string name = std::string(what) + " '" + path + "'";
  // Without waiting for whoever writes to a pipe.
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0) {
    return FailedPrecondition(name + " cannot be read: " + ErrnoText() + ".");
  }
  STOKER_RETURN_IF_ERROR(CheckAccess(name, status, secrecy));
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size > max_bytes) {
    return InvalidArgument(name + " has " + std::to_string(size) + " bytes; the limit is " +
                           std::to_string(max_bytes) + ".");
  }
  std::string text(size, '\0');
  const ssize_t got = pread(file.get(), text.data(), text.size(), 0);
  if (got < 0) return FailedPrecondition(name + " cannot be read: " + ErrnoText() + ".");
  text.resize(static_cast<std::size_t>(got));
  return text;
}

}  // namespace stoker
