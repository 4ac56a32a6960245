// Regular files, as settings and arguments name them. A pipe would be waited for and a device has
// no end: whoever names one is told so.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "protocol/base/host/file_descriptor.h"
#include "protocol/base/result.h"

namespace stoker {

// Waits for nobody who writes to a pipe. Where it fails, errno says why.
FileDescriptor OpenToRead(const std::string& path, int more_flags = 0);

class RegularFile {
 public:
  // `what` begins messages: "Token file". FailedPrecondition: it cannot be read, or is no regular
  // file.
  static Result<RegularFile> Open(std::string_view what, const std::string& path);
  // Of a file that was opened, or was not: then errno says why.
  static Result<RegularFile> Of(std::string_view what, const std::string& path,
                                FileDescriptor file);

  // All of it. ResourceExhausted: it has more than `max_bytes`.
  Result<std::string> Read(std::size_t max_bytes) const;

  int descriptor() const { return file_.get(); }
  const struct stat& status() const { return status_; }
  const std::string& name() const { return name_; }  // "Token file '/etc/tokens'"

 private:
  RegularFile(std::string name, FileDescriptor file, const struct stat& status)
      : name_(std::move(name)), file_(std::move(file)), status_(status) {}

  std::string name_;
  FileDescriptor file_;
  struct stat status_;
};

// Both in one.
Result<std::string> ReadRegularFile(std::string_view what, const std::string& path,
                                    std::size_t max_bytes);

}  // namespace stoker
