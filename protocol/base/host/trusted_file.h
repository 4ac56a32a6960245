// Files whose content is believed: credentials, and what says whom to believe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/base/result.h"

namespace stoker {

// Changes with content, mode, owner and place of a file; not with when it was read.
struct FileVersion {
  std::int64_t changed_ns = 0;
  std::uint64_t inode = 0;
  std::int64_t bytes = -1;  // Negative: it cannot be looked at.
  std::uint32_t mode = 0;

  friend bool operator==(const FileVersion&, const FileVersion&) = default;
};
FileVersion VersionOf(const std::string& path);

enum class Secrecy : std::uint8_t {
  kPublic,
  // Its owner alone may read it; where that is root, its group, too.
  kSecret,
};

// All of it. Root or this process's user owns it, nobody else may write to it, and it is a regular
// file. FailedPrecondition says what is otherwise, ResourceExhausted that it has more
// than `max_bytes`. `what` begins the message: "Token file".
Result<std::string> ReadTrustedFile(std::string_view what, const std::string& path,
                                    std::size_t max_bytes, Secrecy secrecy);

}  // namespace stoker
