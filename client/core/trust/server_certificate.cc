#include "client/core/trust/server_certificate.h"

#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <memory>

#include "protocol/base/freed_by.h"

namespace stoker {
namespace {

constexpr int kMaxNamesShown = 8;

// The SHA-256 of the SubjectPublicKeyInfo.
Digest PinOf(const X509* certificate) {
  unsigned char* der = nullptr;
  const int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &der);
  const Digest pin =
      Sha256Of({reinterpret_cast<const char*>(der), static_cast<std::size_t>(std::max(size, 0))});
  OPENSSL_free(der);
  return pin;
}

std::string TextOf(const GENERAL_NAME* name) {
  if (name->type == GEN_DNS) {
    const auto* text = reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName));
    std::string dns(text, static_cast<std::size_t>(ASN1_STRING_length(name->d.dNSName)));
    std::replace_if(
        dns.begin(), dns.end(), [](char c) { return c <= ' ' || c >= 0x7F; }, '?');
    return dns;
  }
  if (name->type != GEN_IPADD) return "";
  const int size = ASN1_STRING_length(name->d.iPAddress);
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool is_v6 = size == sizeof(in6_addr);
  if (!is_v6 && size != sizeof(in_addr)) return "";
  inet_ntop(is_v6 ? AF_INET6 : AF_INET, ASN1_STRING_get0_data(name->d.iPAddress), text.data(),
            text.size());
  return text.data();
}

// The hosts that it names.
std::string HostsOf(const X509* certificate) {
  const std::unique_ptr<GENERAL_NAMES, FreedBy<GENERAL_NAMES_free>> names(
      static_cast<GENERAL_NAMES*>(
          X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  std::string hosts;
  const int count = names == nullptr ? 0 : sk_GENERAL_NAME_num(names.get());
  for (int i = 0, shown = 0; i < count && shown < kMaxNamesShown; ++i) {
    const std::string host = TextOf(sk_GENERAL_NAME_value(names.get(), i));
    if (host.empty()) continue;
    hosts += (hosts.empty() ? "" : ", ") + host;
    ++shown;
  }
  return hosts.empty() ? "no host" : hosts;
}

std::string MomentOf(const ASN1_TIME* time) {
  std::tm parts{};
  std::array<char, 32> text{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &parts) != 1) return "an unknown day";
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M UTC", &parts)};
}

}  // namespace

void ServerCertificate::CheckIn(SSL* ssl) {
  SSL_set_app_data(ssl, this);
  X509_VERIFY_PARAM* const parameters = SSL_get0_param(ssl);
  // An address has no name that a server could choose a certificate by.
  if (X509_VERIFY_PARAM_set1_ip_asc(parameters, url_.host.c_str()) == 1) return;
  X509_VERIFY_PARAM_set_hostflags(
      parameters, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  X509_VERIFY_PARAM_set1_host(parameters, url_.host.c_str(), url_.host.size());
  SSL_set_tlsext_host_name(ssl, url_.host.c_str());
}

int ServerCertificate::Verify(X509_STORE_CTX* chain, void* /*unused*/) {
  const auto* ssl = static_cast<const SSL*>(
      X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
  return static_cast<ServerCertificate*>(SSL_get_app_data(ssl))->Believes(chain) ? 1 : 0;
}

bool ServerCertificate::Believes(X509_STORE_CTX* chain) {
  if (!trust_.pins.empty()) {
    const Digest pin = PinOf(X509_STORE_CTX_get0_cert(chain));
    if (std::find(trust_.pins.begin(), trust_.pins.end(), pin) == trust_.pins.end()) {
      refusal_ = "The key of " + url_.ToString() + " is " + PinText(pin) +
                 ", which STOKER_TLS_PIN does not name.";
      X509_STORE_CTX_set_error(chain, X509_V_ERR_APPLICATION_VERIFICATION);
      return false;
    }
    if (trust_.ca_file.empty()) return true;
  }
  if (X509_verify_cert(chain) == 1) return true;
  refusal_ = "The certificate of " + url_.ToString() + " " +
             ReasonOf(X509_STORE_CTX_get_error(chain), chain);
  return false;
}

std::string ServerCertificate::ReasonOf(int error, X509_STORE_CTX* chain) const {
  const X509* const at = X509_STORE_CTX_get_current_cert(chain);
  switch (error) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return "is for " + HostsOf(X509_STORE_CTX_get0_cert(chain)) + ", not for " + url_.host + ".";
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "has expired: it was good until " +
             MomentOf(at == nullptr ? nullptr : X509_get0_notAfter(at)) + ".";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "is not valid before " + MomentOf(at == nullptr ? nullptr : X509_get0_notBefore(at)) +
             ".";
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
      if (!trust_.ca_file.empty()) {
        return "is signed by none of the CAs in '" + trust_.ca_file + "' (STOKER_TLS_CA).";
      }
      return "is signed by none of this system's CAs; STOKER_TLS_CA names a file of others, "
             "STOKER_TLS_PIN the daemon's key.";
    default:
      return std::string("is refused: ") + X509_verify_cert_error_string(error) + ".";
  }
}

}  // namespace stoker
