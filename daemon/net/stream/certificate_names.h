// Whom a certificate speaks of.
#pragma once

#include <openssl/types.h>

#include <string>
#include <vector>

namespace stoker::net {

// The subject's common name, then the alternative names that are DNS names, e-mail addresses and
// URIs; as UTF-8 without control characters: others are left out. Where none is left, one that is
// made of its digest: "sha256:...".
std::vector<std::string> NamesOf(const X509* certificate);

}  // namespace stoker::net
