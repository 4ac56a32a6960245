#include "daemon/net/stream/certificate_names.h"

#include <openssl/asn1.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <memory>

#include "protocol/base/digest.h"
#include "protocol/base/freed_by.h"

namespace stoker::net {
namespace {

constexpr std::size_t kMaxNames = 64;
constexpr std::size_t kMaxNameBytes = 1024;

void Add(const ASN1_STRING* name, std::vector<std::string>* names) {
  unsigned char* text = nullptr;
  const int size = name == nullptr ? -1 : ASN1_STRING_to_UTF8(&text, name);
  if (size < 0) return;
  std::string utf8(reinterpret_cast<const char*>(text), static_cast<std::size_t>(size));
  OPENSSL_free(text);
  const bool is_shown = std::none_of(utf8.begin(), utf8.end(), [](char c) {
    return static_cast<unsigned char>(c) < ' ' || c == 0x7F;
  });
  if (is_shown && !utf8.empty() && utf8.size() <= kMaxNameBytes && names->size() < kMaxNames) {
    names->push_back(std::move(utf8));
  }
}

std::string DigestName(const X509* certificate) {
  std::array<std::uint8_t, Digest::kSize> digest{};
  unsigned size = digest.size();
  X509_digest(certificate, EVP_sha256(), digest.data(), &size);
  return "sha256:" + Digest(digest).ToHex();
}

}  // namespace

std::vector<std::string> NamesOf(const X509* certificate) {
  std::vector<std::string> names;
  X509_NAME* const subject = X509_get_subject_name(certificate);
  const int common = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (common >= 0) Add(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, common)), &names);
  const std::unique_ptr<GENERAL_NAMES, FreedBy<GENERAL_NAMES_free>> alternatives(
      static_cast<GENERAL_NAMES*>(
          X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  const int count = alternatives == nullptr ? 0 : sk_GENERAL_NAME_num(alternatives.get());
  for (int i = 0; i < count; ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(alternatives.get(), i);
    if (name->type == GEN_DNS || name->type == GEN_EMAIL || name->type == GEN_URI) {
      Add(name->d.ia5, &names);
    }
  }
  if (names.empty()) names.push_back(DigestName(certificate));
  return names;
}

}  // namespace stoker::net
