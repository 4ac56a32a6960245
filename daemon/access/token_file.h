// TokenFile: the bearer tokens that a daemon knows, and what clients with certificates may do. It
// holds the tokens' hashes, so that who reads the file cannot use them.
//
//   [[token]]
//   name = "ci"                      # How logs and errors call it.
//   sha256 = "9f86d0..."             # Of the token's characters: 64 hexadecimal digits.
//   scopes = ["read", "write"]
//   namespaces = ["team-a"]          # Without: everywhere.
//
//   [[certificate]]
//   subject = "trainer.example.com"  # A common name, or an alternative name of a certificate.
//   scopes = ["read"]
//   namespaces = ["team-a"]          # Without: everywhere.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/access/grant.h"
#include "protocol/base/digest.h"
#include "protocol/base/host/file_watch.h"
#include "protocol/base/result.h"

namespace stoker {

inline constexpr std::size_t kMaxTokens = 4096;  // And as many certificates.
inline constexpr std::size_t kMaxTokenFileBytes = std::size_t{1} << 20;
// A shorter one could be guessed from its hash.
inline constexpr std::size_t kMinTokenBytes = 20;

struct Token {
  Digest sha256;
  Grant grant;
};

struct CertificateEntry {
  std::string subject;
  Grant grant;
};

struct Credentials {
  std::vector<Token> tokens;
  std::vector<CertificateEntry> certificates;
};

// What the text of such a file says. InvalidArgument names the entry, the key and what is expected.
Result<Credentials> ParseCredentials(std::string_view text);

class TokenFile {
 public:
  // FailedPrecondition: it cannot be read, or others than root and the daemon's own user may write
  // to it.
  static Result<std::unique_ptr<TokenFile>> Open(std::string path);

  // The grant of the token, if there is one. Takes as long whether or which one it is.
  std::optional<Grant> Find(std::string_view token) const;
  // Of the first entry whose subject is one of a certificate's names, if there is one.
  std::optional<Grant> FindCertificate(std::span<const std::string> names) const;
  // Reads the file again; false where it is what was read last. On an error, which comes once, what
  // was read before counts. From any thread.
  Result<bool> Reload();
  // The same once it has stayed as it is since the call before: one that is emptied to be written
  // anew revokes nothing.
  Result<bool> ReloadSettled();
  // How many tokens and certificates it names.
  std::string Describe() const;
  bool is_empty() const;

 private:
  explicit TokenFile(std::string path) : path_(std::move(path)), watch_({path_}) {}
  Result<bool> Read();

  const std::string path_;
  std::mutex reading_;  // Guards the watch.
  FileWatch watch_;
  mutable std::mutex mutex_;  // Guards the credentials; nothing is read while it is held.
  Credentials credentials_;
};

}  // namespace stoker
