// FileDescriptor: owns an open file.
#pragma once

#include <string_view>
#include <utility>

namespace stoker {

class FileDescriptor {
 public:
  // Negative: none, as open() gives where it fails.
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&&) = delete;
  ~FileDescriptor();

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

// False, with errno set, where not all of it was written.
bool WriteAll(int fd, std::string_view bytes);

}  // namespace stoker
