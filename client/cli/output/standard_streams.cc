#include "client/cli/output/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "stoker/stoker.hpp"

namespace stoker::cli {

void HoldStandardStreams() {
  while (true) {
    // Takes the least number that is free. Writing to it fails.
    const int held = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (held >= 0 && held <= STDERR_FILENO) continue;
    if (held >= 0) close(held);
    return;
  }
}

void FlushOutput() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  const std::string why = errno == 0 ? "" : std::string(": ") + std::strerror(errno);
  throw Error(STOKER_UNAVAILABLE, "Standard output cannot be written" + why + ".");
}

void TellText(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace stoker::cli
