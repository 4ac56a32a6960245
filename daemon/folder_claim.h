// FolderClaim: one daemon per cache folder. A daemon that drains keeps the folder until its
// compiles have ended; one that starts meanwhile waits for that, and for a daemon that stays no
// longer than the system takes to release what a killed one held.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "protocol/base/result.h"

namespace stoker {

class FolderClaim {
 public:
  // Waits at most `patience` for a draining holder. FailedPrecondition names the holder.
  static Result<std::unique_ptr<FolderClaim>> Take(const std::string& folder,
                                                   std::chrono::milliseconds patience);
  ~FolderClaim();
  FolderClaim(const FolderClaim&) = delete;
  FolderClaim& operator=(const FolderClaim&) = delete;

  // From now on others wait.
  void SayDraining();

 private:
  explicit FolderClaim(int fd) : fd_(fd) {}

  const int
      fd_;  // Of "<folder>/stokerd.lock", locked; it says "<pid> serving" or "<pid> draining".
};

}  // namespace stoker
