// TestAuthority: signs certificates for tests, with keys that are made as they are needed.
#pragma once

#include <openssl/evp.h>

#include <memory>
#include <string>

#include "protocol/base/freed_by.h"
#include "protocol/tls/pem_files.h"

namespace stoker::tls {

struct Wish {
  std::string name = "daemon";
  // As openssl-x509v3_config(5) has them; empty: none.
  std::string alternatives = "DNS:localhost,IP:127.0.0.1";
  int begins_s = -3600;  // From now.
  int ends_s = 3600;
};

// In PEM form.
struct Issued {
  std::string certificate;
  std::string key;
};

// Paths of files that hold them, the key for its owner alone.
struct IssuedFiles {
  std::string certificate;
  std::string key;
};

class TestAuthority {
 public:
  explicit TestAuthority(const std::string& name = "test CA");

  // Its own certificate, in PEM form.
  std::string certificate() const;
  Issued Issue(const Wish& wish = {}) const;
  // In "<folder>/<file>.pem" and "<folder>/<file>.key", in place of what was there.
  IssuedFiles IssueIn(const std::string& folder, const std::string& file,
                      const Wish& wish = {}) const;

 private:
  using Key = std::unique_ptr<EVP_PKEY, FreedBy<EVP_PKEY_free>>;

  const Key key_;
  const Certificate certificate_;
};

// Writes a file for its owner alone to read, by a rename, as who replaces certificates does.
void WriteSecret(const std::string& path, const std::string& text);

}  // namespace stoker::tls
