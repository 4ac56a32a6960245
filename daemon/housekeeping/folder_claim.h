// FolderClaim: one daemon per cache folder. A daemon that drains keeps the folder until its
// compiles have ended; one that starts meanwhile waits for that, and for a daemon that stays no
// longer than the system takes to release what a killed one held.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>

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

  // Whether somebody has removed the folder, or what is stored in it, or put another one in its
  // place: what is written now nobody finds again.
  bool IsGone() const;

 private:
  FolderClaim(std::string folder, int fd) : folder_(std::move(folder)), fd_(fd) {}

  const std::string folder_;
  const int
      fd_;  // Of "<folder>/stokerd.lock", locked; it says "<pid> serving" or "<pid> draining".
};

}  // namespace stoker
