// ServerCertificate: whether a daemon's certificate is to be believed, and if not, why. For
// tls_transport.cc.
#pragma once

#include <openssl/types.h>

#include <string>

#include "client/core/settings/url.h"
#include "client/core/trust/tls_trust.h"

namespace stoker {

class ServerCertificate {
 public:
  // Both must outlive it.
  ServerCertificate(const DaemonUrl& url, const TlsTrust& trust) : url_(url), trust_(trust) {}

  // Has `ssl` ask this object, and look for the URL's host in the certificate. Its context must
  // trust whom TlsTrust names.
  void CheckIn(SSL* ssl);

  // Why it was refused: one line. Empty: it was not.
  const std::string& refusal() const { return refusal_; }

  // For SSL_CTX_set_cert_verify_callback; the object of the connection is found in its SSL.
  static int Verify(X509_STORE_CTX* chain, void* unused);

 private:
  bool Believes(X509_STORE_CTX* chain);
  std::string ReasonOf(int error, X509_STORE_CTX* chain) const;

  const DaemonUrl& url_;
  const TlsTrust& trust_;
  std::string refusal_;
};

}  // namespace stoker
