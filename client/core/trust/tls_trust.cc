#include "client/core/trust/tls_trust.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>

#include "client/core/settings/environment.h"

namespace stoker {
namespace {

constexpr std::string_view kCurlPrefix = "sha256//";
constexpr std::string_view kShortPrefix = "sha256/";
constexpr std::string_view kSeparators = " \t,;";
constexpr std::size_t kHexDigits = 2 * Digest::kSize;
constexpr std::size_t kBase64Bytes = 44;  // With one '=' at the end.
constexpr std::size_t kMaxPins = 64;

std::optional<Digest> DigestOfHex(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  const auto digest = Digest::FromHex(text);
  return digest.ok() ? std::optional(*digest) : std::nullopt;
}

std::optional<Digest> DigestOfBase64(const std::string& text) {
  std::array<unsigned char, Digest::kSize + 1> bytes;  // The last one is padding.
  const bool is_padded = text.ends_with('=') && text.find('=') == text.size() - 1;
  if (!is_padded ||
      EVP_DecodeBlock(bytes.data(), reinterpret_cast<const unsigned char*>(text.data()),
                      static_cast<int>(text.size())) != static_cast<int>(bytes.size())) {
    return std::nullopt;
  }
  const auto digest =
      Digest::FromBytes({reinterpret_cast<const char*>(bytes.data()), Digest::kSize});
  return digest.ok() ? std::optional(*digest) : std::nullopt;
}

std::optional<Digest> DigestOf(std::string_view pin) {
  for (const std::string_view prefix : {kCurlPrefix, kShortPrefix}) {
    if (!pin.starts_with(prefix)) continue;
    pin.remove_prefix(prefix.size());
    break;
  }
  if (pin.size() == kHexDigits) return DigestOfHex(std::string(pin));
  if (pin.size() == kBase64Bytes) return DigestOfBase64(std::string(pin));
  return std::nullopt;
}

}  // namespace

std::string TlsTrust::ToString() const {
  std::string text;
  if (!pins.empty())
    text = pins.size() == 1 ? "its key" : "one of " + std::to_string(pins.size()) + " keys";
  if (!ca_file.empty()) text += std::string(text.empty() ? "" : " and ") + "the CAs in " + ca_file;
  if (text.empty()) text = "this system's CAs";
  return text;
}

Result<std::vector<Digest>> ParsePins(std::string_view text) {
  std::vector<Digest> pins;
  for (std::size_t begin = text.find_first_not_of(kSeparators); begin != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kSeparators, begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    const auto pin = DigestOf(word);
    if (!pin) {
      return InvalidArgument("'" + std::string(word) +
                             "' is no SHA-256 in base64 or of 64 hexadecimal digits.");
    }
    if (pins.size() == kMaxPins) {
      return InvalidArgument("There are more than " + std::to_string(kMaxPins) + " pins.");
    }
    pins.push_back(*pin);
    begin = text.find_first_not_of(kSeparators, end);
  }
  return pins;
}

std::string PinText(const Digest& pin) {
  std::array<unsigned char, kBase64Bytes + 1> text;  // And a zero.
  EVP_EncodeBlock(text.data(), reinterpret_cast<const unsigned char*>(pin.AsBytes().data()),
                  Digest::kSize);
  return std::string(kCurlPrefix) + reinterpret_cast<const char*>(text.data());
}

Result<TlsTrust> TlsTrustOfEnvironment() {
  TlsTrust trust;
  trust.ca_file = Environment("STOKER_TLS_CA");
  const auto pins = ParsePins(Environment("STOKER_TLS_PIN"));
  if (!pins.ok()) return pins.error().WithContext("STOKER_TLS_PIN");
  trust.pins = *pins;
  trust.certificate = Environment("STOKER_TLS_CERTIFICATE");
  trust.key = Environment("STOKER_TLS_KEY");
  if (trust.certificate.empty() != trust.key.empty()) {
    const bool no_key = trust.key.empty();
    return InvalidArgument(std::string(no_key ? "STOKER_TLS_CERTIFICATE" : "STOKER_TLS_KEY") +
                           " is set without " +
                           (no_key ? "STOKER_TLS_KEY." : "STOKER_TLS_CERTIFICATE."));
  }
  return trust;
}

}  // namespace stoker
