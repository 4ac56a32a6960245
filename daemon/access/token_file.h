// TokenFile: the bearer tokens that a daemon knows. It holds their hashes, so that who reads the
// file cannot use them.
//
//   [[token]]
//   name = "ci"                      # How logs and errors call it.
//   sha256 = "9f86d0..."             # Of the token's characters: 64 hexadecimal digits.
//   scopes = ["read", "write"]
//   namespaces = ["team-a"]          # Without: everywhere.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/access/grant.h"
#include "protocol/base/digest.h"
#include "protocol/base/result.h"

namespace stoker {

inline constexpr std::size_t kMaxTokens = 4096;
inline constexpr std::size_t kMaxTokenFileBytes = std::size_t{1} << 20;
// A shorter one could be guessed from its hash.
inline constexpr std::size_t kMinTokenBytes = 20;

struct Token {
  Digest sha256;
  Grant grant;
};

// What the text of such a file says. InvalidArgument names the entry, the key and what is expected.
Result<std::vector<Token>> ParseTokens(std::string_view text);

class TokenFile {
 public:
  // FailedPrecondition: it cannot be read, or others than root and the daemon's own user may write
  // to it.
  static Result<std::unique_ptr<TokenFile>> Open(std::string path);

  // The grant of the token, if there is one. Takes as long whether or which one it is.
  std::optional<Grant> Find(std::string_view token) const;
  // Reads the file again if its time, size or place has changed. On an error the tokens stay.
  Status Reload();

 private:
  struct Version {
    std::int64_t changed_ns = 0;  // Content, mode or owner.
    std::uint64_t inode = 0;
    std::int64_t bytes = -1;
    friend bool operator==(const Version&, const Version&) = default;
  };

  explicit TokenFile(std::string path) : path_(std::move(path)) {}

  const std::string path_;
  mutable std::mutex mutex_;  // Guards what follows.
  Version version_;
  std::vector<Token> tokens_;
};

}  // namespace stoker
