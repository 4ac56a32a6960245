// DaemonTrust: which daemon a client believes, and how it proves itself to one. What a daemon
// sends is code that runs in the client's process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "client/core/tls_trust.h"
#include "protocol/base/result.h"

namespace stoker {

struct DaemonTrust {
  // Who may serve a Unix socket, besides root and the client's own user.
  std::optional<std::uint32_t> daemon_uid = {};
  std::string token = {};  // Sent with each request. Empty: none.
  TlsTrust tls = {};
};

// STOKER_DAEMON_USER (a name or a number), STOKER_TOKEN, STOKER_TOKEN_FILE, whose first line is
// the token, and what TlsTrustOfEnvironment reads. InvalidArgument names the variable and what is
// wrong with it.
Result<DaemonTrust> DaemonTrustOfEnvironment();

// FailedPrecondition unless the process that serves this connected Unix socket may be believed.
Status CheckSocketServer(int socket, const std::string& path, const DaemonTrust& trust);

// FailedPrecondition unless the other end of this connected TCP socket is on this host: a token
// that crosses a network in clear is everybody's. The address counts, not the name that led to it.
Status CheckTokenStaysHere(int socket, const std::string& url);

}  // namespace stoker
