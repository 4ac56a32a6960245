#include "protocol/tls/pem_files.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include "protocol/base/host/trusted_file.h"

namespace stoker::tls {
namespace {

using Bio = std::unique_ptr<BIO, FreedBy<BIO_free>>;
using Key = std::unique_ptr<EVP_PKEY, FreedBy<EVP_PKEY_free>>;

// All public roots together have 0.2 MiB.
constexpr std::size_t kMaxFileBytes = std::size_t{4} << 20;

Bio Reading(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// Nobody is there to be asked.
int NoPassPhrase(char* /*into*/, int /*size*/, int /*writing*/, void* /*data*/) { return -1; }

Result<Key> KeyIn(const std::string& path) {
  STOKER_TRY(std::string text,
             ReadTrustedFile("TLS key file", path, kMaxFileBytes, Secrecy::kSecret));
  Key key(PEM_read_bio_PrivateKey(Reading(text).get(), nullptr, NoPassPhrase, nullptr));
  OPENSSL_cleanse(text.data(), text.size());
  if (key != nullptr) return key;
  return InvalidArgument("TLS key file '" + path +
                         "' holds no private key in PEM form, or one with a pass phrase.");
}

}  // namespace

std::string Reason() {
  const char* const reason = ERR_reason_error_string(ERR_peek_last_error());
  return reason == nullptr ? "no reason given" : reason;
}

Result<Context> NewContext(const SSL_METHOD* method) {
  ERR_clear_error();
  Context context(SSL_CTX_new(method));
  if (context != nullptr && SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION) == 1) {
    return context;
  }
  return Internal("TLS cannot be set up: " + Reason() + ".");
}

Result<std::vector<Certificate>> CertificatesIn(const std::string& what, const std::string& path) {
  STOKER_TRY(const std::string text, ReadTrustedFile(what, path, kMaxFileBytes, Secrecy::kPublic));
  const Bio bio = Reading(text);
  std::vector<Certificate> certificates;
  while (Certificate next{PEM_read_bio_X509(bio.get(), nullptr, NoPassPhrase, nullptr)}) {
    certificates.push_back(std::move(next));
  }
  // So reading ends after the last one. What looks like one and is none is damaged.
  const bool ended = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  const std::string why = Reason();
  ERR_clear_error();
  const std::string name = what + " '" + path + "'";
  if (!ended) return InvalidArgument(name + " holds a damaged certificate: " + why + ".");
  if (certificates.empty()) return InvalidArgument(name + " holds no certificate in PEM form.");
  return certificates;
}

Status UseCertificate(SSL_CTX* context, const std::string& certificate_path,
                      const std::string& key_path) {
  STOKER_TRY(const std::vector<Certificate> chain,
             CertificatesIn("TLS certificate file", certificate_path));
  STOKER_TRY(const Key key, KeyIn(key_path));
  if (SSL_CTX_use_certificate(context, chain.front().get()) != 1) {
    return InvalidArgument("The certificate in '" + certificate_path +
                           "' cannot be used: " + Reason() + ".");
  }
  for (std::size_t i = 1; i < chain.size(); ++i) {
    if (SSL_CTX_add1_chain_cert(context, chain[i].get()) != 1) {
      return InvalidArgument("Certificate " + std::to_string(i + 1) + " in '" + certificate_path +
                             "' cannot be used: " + Reason() + ".");
    }
  }
  if (X509_check_private_key(chain.front().get(), key.get()) != 1 ||
      SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
    return InvalidArgument("The key in '" + key_path +
                           "' is not that of the first certificate in '" + certificate_path + "'.");
  }
  return Ok();
}

Status TrustAuthorities(SSL_CTX* context, const std::vector<Certificate>& authorities,
                        const std::string& path) {
  for (const Certificate& authority : authorities) {
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority.get()) != 1) {
      return InvalidArgument("A certificate in '" + path + "' cannot be used: " + Reason() + ".");
    }
  }
  return Ok();
}

}  // namespace stoker::tls
