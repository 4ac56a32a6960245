#include "tests/unit/protocol/tls/test_authority.h"

#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <cstdio>
#include <fstream>

#include "protocol/base/check.h"

namespace stoker::tls {
namespace {

using Bio = std::unique_ptr<BIO, FreedBy<BIO_free>>;

std::string TextIn(BIO* bio) {
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio, &text);
  return {text, static_cast<std::size_t>(size)};
}

std::string PemOf(X509* certificate) {
  const Bio bio(BIO_new(BIO_s_mem()));
  STOKER_CHECK(PEM_write_bio_X509(bio.get(), certificate) == 1);
  return TextIn(bio.get());
}

std::string PemOf(EVP_PKEY* key) {
  const Bio bio(BIO_new(BIO_s_mem()));
  STOKER_CHECK(
      PEM_write_bio_PKCS8PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1);
  return TextIn(bio.get());
}

void Extend(X509* certificate, int kind, const std::string& value) {
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str());
  STOKER_CHECK(extension != nullptr);
  STOKER_CHECK(X509_add_ext(certificate, extension, -1) == 1);
  X509_EXTENSION_free(extension);
}

// Signed by `issuer`, or by itself where that is null.
Certificate Make(const Wish& wish, EVP_PKEY* key, X509* issuer, EVP_PKEY* issuer_key) {
  Certificate made(X509_new());
  X509_set_version(made.get(), X509_VERSION_3);
  unsigned char serial[4];
  RAND_bytes(serial, sizeof serial);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), serial[0] << 16 | serial[1] << 8 | serial[2]);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(made.get()), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(wish.name.c_str()), -1, -1, 0);
  X509* const signer = issuer == nullptr ? made.get() : issuer;
  X509_set_issuer_name(made.get(), X509_get_subject_name(signer));
  X509_gmtime_adj(X509_getm_notBefore(made.get()), wish.begins_s);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), wish.ends_s);
  X509_set_pubkey(made.get(), key);
  Extend(made.get(), NID_basic_constraints, issuer == nullptr ? "critical,CA:TRUE" : "CA:FALSE");
  if (!wish.alternatives.empty()) {
    Extend(made.get(), NID_subject_alt_name, wish.alternatives);
  }
  STOKER_CHECK(X509_sign(made.get(), issuer_key, EVP_sha256()) > 0);
  return made;
}

}  // namespace

TestAuthority::TestAuthority(const std::string& name)
    : key_(EVP_EC_gen("P-256")),
      certificate_(Make({.name = name, .alternatives = ""}, key_.get(), nullptr, key_.get())) {}

std::string TestAuthority::certificate() const { return PemOf(certificate_.get()); }

Issued TestAuthority::Issue(const Wish& wish) const {
  const Key key(EVP_EC_gen("P-256"));
  return {PemOf(Make(wish, key.get(), certificate_.get(), key_.get()).get()), PemOf(key.get())};
}

IssuedFiles TestAuthority::IssueIn(const std::string& folder, const std::string& file,
                                   const Wish& wish) const {
  const Issued issued = Issue(wish);
  const IssuedFiles files{folder + "/" + file + ".pem", folder + "/" + file + ".key"};
  WriteSecret(files.certificate, issued.certificate);
  WriteSecret(files.key, issued.key);
  return files;
}

void WriteSecret(const std::string& path, const std::string& text) {
  const std::string beside = path + ".new";
  std::ofstream(beside) << text;
  STOKER_CHECK(chmod(beside.c_str(), 0600) == 0);
  STOKER_CHECK(std::rename(beside.c_str(), path.c_str()) == 0);
}

}  // namespace stoker::tls
