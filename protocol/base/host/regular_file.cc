#include "protocol/base/host/regular_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace stoker {
namespace {

Error CannotBeRead(const std::string& name) {
  return FailedPrecondition(name + " cannot be read: " + std::generic_category().message(errno) +
                            ".");
}

}  // namespace

FileDescriptor OpenToRead(const std::string& path, int more_flags) {
  return FileDescriptor(
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | more_flags));
}

Result<RegularFile> RegularFile::Open(std::string_view what, const std::string& path) {
  return Of(what, path, OpenToRead(path));
}

Result<RegularFile> RegularFile::Of(std::string_view what, const std::string& path,
                                    FileDescriptor file) {
  std::string name = std::string(what) + " '" + path + "'";
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0) return CannotBeRead(name);
  if (!S_ISREG(status.st_mode)) return FailedPrecondition(name + " is no regular file.");
  return RegularFile(std::move(name), std::move(file), status);
}

Result<std::string> RegularFile::Read(std::size_t max_bytes) const {
  const auto size = static_cast<std::size_t>(status_.st_size);
  const auto too_large = [&](std::size_t bytes) {
    return ResourceExhausted(name_ + " has " + std::to_string(bytes) + " bytes; the limit is " +
                             std::to_string(max_bytes) + ".");
  };
  if (size > max_bytes) return too_large(size);
  std::string text(size + 1, '\0');  // The one more finds the end.
  std::size_t done = 0;
  while (true) {
    const ssize_t got =
        pread(file_.get(), text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return CannotBeRead(name_);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
    if (done > max_bytes) return too_large(done);  // It grows.
    if (done == text.size()) text.resize(std::min(2 * done, max_bytes + 1));
  }
  text.resize(done);
  return text;
}

Result<std::string> ReadRegularFile(std::string_view what, const std::string& path,
                                    std::size_t max_bytes) {
  STOKER_TRY(const RegularFile file, RegularFile::Open(what, path));
  return file.Read(max_bytes);
}

}  // namespace stoker
