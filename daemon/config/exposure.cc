#include "daemon/config/exposure.h"

#include <algorithm>
#include <iterator>

#include "daemon/net/listener.h"

namespace stoker {
namespace {

// They were parsed when they were set.
net::ListenAddress Parsed(const std::string& text) {
  return net::ListenAddress::Parse(text).value();
}

bool AsksForCredential(const Config& config) {
  return !config.token_file.empty() || !config.tls_client_ca.empty();
}

// What an address that other hosts reach lacks; empty: nothing.
std::string LackOf(const net::ListenAddress& address, const Config& config) {
  if (!address.IsOnNetwork()) return "";
  std::string lack = address.is_tls ? "" : "TLS (https://, --tls-certificate, --tls-key)";
  if (!AsksForCredential(config)) {
    lack += std::string(lack.empty() ? "" : " and ") + "a credential (--tokens or --tls-client-ca)";
  }
  return lack;
}

}  // namespace

Status CheckExposure(const Config& config) {
  for (const std::string& text : config.listen) {
    const net::ListenAddress address = Parsed(text);
    if (address.is_tls && (config.tls_certificate.empty() || config.tls_key.empty())) {
      return InvalidArgument("Listen address '" + text + "' needs " +
                             (config.tls_certificate.empty() ? "--tls-certificate" : "--tls-key") +
                             ".");
    }
    const std::string lack = LackOf(address, config);
    if (!lack.empty() && !config.insecure) {
      return InvalidArgument("Listen address '" + text + "' is reached by other hosts and needs " +
                             lack + "; --insecure goes without.");
    }
  }
  return Ok();
}

std::vector<std::string> InsecureAddresses(const Config& config) {
  std::vector<std::string> addresses;
  std::copy_if(config.listen.begin(), config.listen.end(), std::back_inserter(addresses),
               [&](const std::string& text) { return !LackOf(Parsed(text), config).empty(); });
  return addresses;
}

bool HasTlsAddress(const Config& config) {
  return std::any_of(config.listen.begin(), config.listen.end(),
                     [](const std::string& text) { return Parsed(text).is_tls; });
}

std::string UnusedTlsOptions(const Config& config) {
  if (HasTlsAddress(config)) return "";
  std::string options;
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) options += (options.empty() ? "" : ", ") + std::string(option);
  };
  add("--tls-certificate", config.tls_certificate);
  add("--tls-key", config.tls_key);
  add("--tls-client-ca", config.tls_client_ca);
  return options;
}

}  // namespace stoker
