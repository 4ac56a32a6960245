// AccessControl: who may do what. A token says so; without one the certificate of who asks; without
// that the user on this host.
#pragma once

#include <cstdint>
#include <optional>

#include "daemon/access/grant.h"
#include "daemon/access/token_file.h"
#include "daemon/net/http/http.h"

namespace stoker {

struct AccessConfig {
  std::uint32_t own_uid = 0;    // This user and root may do everything.
  Scopes other_users = {};      // What other users of this host may do.
  std::string token_file = {};  // Empty: no tokens.
  // What clients with a certificate may do for which the token file has no entry.
  Scopes certificates = {};
  // Who shows nothing and is no user of this host may do what other users may.
  bool insecure = false;
};

class AccessControl {
 public:
  // Reads the token file. InvalidArgument says what is wrong with it.
  static Result<std::unique_ptr<AccessControl>> Open(AccessConfig config);

  // What the sender of this request may do. FailedPrecondition: a credential that is none.
  Result<Grant> GrantOf(const net::HttpRequest& request) const;

  // Null: there are no tokens.
  TokenFile* tokens() const { return tokens_.get(); }

 private:
  explicit AccessControl(AccessConfig config) : config_(std::move(config)) {}

  const AccessConfig config_;
  std::unique_ptr<TokenFile> tokens_;
};

}  // namespace stoker
