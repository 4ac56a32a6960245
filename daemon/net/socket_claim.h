// SocketClaim: the right to listen at a path. Held as a lock on "<path>.lock", which ends with the
// process however it ends; the lock file itself stays.
#pragma once

#include <memory>
#include <string>

#include "protocol/base/result.h"

namespace stoker::net {

class SocketClaim {
 public:
  // Removes the socket file that a dead process left. FailedPrecondition when another process holds
  // the claim, or listens there without one.
  static Result<std::unique_ptr<SocketClaim>> Take(const std::string& path);
  // Removes the socket file, then lets the next one in.
  ~SocketClaim();
  SocketClaim(const SocketClaim&) = delete;
  SocketClaim& operator=(const SocketClaim&) = delete;

 private:
  SocketClaim(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  const std::string path_;
  const int fd_;
};

}  // namespace stoker::net
