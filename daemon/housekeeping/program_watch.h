// ProgramWatch: is the file that this process was started from still its program?
#pragma once

#include <sys/types.h>

#include <ctime>
#include <optional>
#include <string>

namespace stoker {

class ProgramWatch {
 public:
  ProgramWatch();

  // Whether it is gone, or another file stands there. False where nothing can be told.
  bool IsReplaced() const;

 private:
  struct Identity {
    dev_t device = 0;
    ino_t number = 0;
    off_t bytes = 0;
    time_t changed_s = 0;
    long changed_ns = 0;
    friend bool operator==(const Identity&, const Identity&) = default;
  };
  static std::optional<Identity> IdentityOf(const char* path);

  std::string path_;  // Empty: unknown.
  Identity started_;
};

}  // namespace stoker
