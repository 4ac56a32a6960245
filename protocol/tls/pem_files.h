// What both ends of TLS read from PEM files (RFC 7468), into OpenSSL's own types.
#pragma once

#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <string>
#include <vector>

#include "protocol/base/freed_by.h"
#include "protocol/base/result.h"

namespace stoker::tls {

using Certificate = std::unique_ptr<X509, FreedBy<X509_free>>;
using Context = std::unique_ptr<SSL_CTX, FreedBy<SSL_CTX_free>>;

// Why the OpenSSL call before failed, for people.
std::string Reason();

// For TLS 1.3 and later alone. Internal: OpenSSL cannot be set up.
Result<Context> NewContext(const SSL_METHOD* method);

// At least one. The file is one that ReadTrustedFile reads; `what` begins the messages.
Result<std::vector<Certificate>> CertificatesIn(const std::string& what, const std::string& path);

// Has `context` show the first certificate of a file, followed by the others, which lead to its
// root, and prove that it has the key in another file, which nobody else may read.
Status UseCertificate(SSL_CTX* context, const std::string& certificate_path,
                      const std::string& key_path);

// Has `context` believe what the certificates of a file have signed.
Status TrustAuthorities(SSL_CTX* context, const std::vector<Certificate>& authorities,
                        const std::string& path);

}  // namespace stoker::tls
