// TlsTrust: which daemon is believed over TLS, and what the client shows it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "protocol/base/digest.h"
#include "protocol/base/result.h"

namespace stoker {

struct TlsTrust {
  // PEM file of who may have signed the daemon's certificate. Empty: whom this system trusts.
  std::string ca_file = {};
  // SHA-256 of the daemon's key (its SubjectPublicKeyInfo): it must have one of these. A key that
  // is known needs nobody's signature: without `ca_file` a pin alone says who the daemon is,
  // whatever names and days its certificate has; with it both must hold.
  std::vector<Digest> pins = {};
  // PEM files of what is shown to a daemon that asks for a certificate. Both or none.
  std::string certificate = {};
  std::string key = {};

  // For people: by what a daemon is known.
  std::string ToString() const;
};

// Keys' digests as 64 hexadecimal digits or in base64, with or without "sha256//" (curl's form) or
// "sha256/" before, separated by spaces, commas or semicolons.
Result<std::vector<Digest>> ParsePins(std::string_view text);
// As curl prints it: "sha256//" and base64.
std::string PinText(const Digest& pin);

// STOKER_TLS_CA, STOKER_TLS_PIN, STOKER_TLS_CERTIFICATE and STOKER_TLS_KEY. InvalidArgument names
// the variable and what is wrong with it.
Result<TlsTrust> TlsTrustOfEnvironment();

}  // namespace stoker
