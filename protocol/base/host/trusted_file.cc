#include "protocol/base/host/trusted_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include "protocol/base/host/regular_file.h"

namespace stoker {
namespace {

Status CheckAccess(const RegularFile& file, Secrecy secrecy) {
  const struct stat& status = file.status();
  const uid_t self = geteuid();
  if ((status.st_uid != 0 && status.st_uid != self) ||
      (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return FailedPrecondition(file.name() + " is no file that root or user " +
                              std::to_string(self) + " alone may write to.");
  }
  if (secrecy == Secrecy::kPublic) return Ok();
  const bool group_reads = (status.st_mode & S_IRGRP) != 0;
  if ((status.st_mode & S_IROTH) != 0 || (group_reads && status.st_uid != 0)) {
    return FailedPrecondition(file.name() +
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
  STOKER_TRY(const RegularFile file, RegularFile::Open(what, path));
  STOKER_RETURN_IF_ERROR(CheckAccess(file, secrecy));
  return file.Read(max_bytes);
}

}  // namespace stoker
