// DaemonTrust: which daemon a client believes, and how it proves itself to one. What a daemon
// sends is code that runs in the client's process.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "client/core/trust/tls_trust.h"
#include "protocol/base/result.h"
#include "protocol/base/signature/signature.h"

namespace stoker {

struct DaemonTrust {
  // Who may serve a Unix socket, besides root and the client's own user.
  std::optional<std::uint32_t> daemon_uid = {};
  std::string token = {};  // Sent with each request. Empty: none.
  TlsTrust tls = {};
  // Whose artifacts are loaded, and nobody else's. Empty: those of a daemon that is authenticated.
  std::vector<PublicKey> signers = {};
};

// STOKER_DAEMON_USER (a name or a number), STOKER_TOKEN, STOKER_TOKEN_FILE, whose first line is
// the token, STOKER_SIGNERS (keys, or a file of keys), and what TlsTrustOfEnvironment reads. An
// error names the variable and what is wrong with it.
Result<DaemonTrust> DaemonTrustOfEnvironment();

// Of a variable that holds keys or the path of a file of them; nothing where it is unset.
Result<std::vector<PublicKey>> PublicKeysOfEnvironment(const char* variable);

// FailedPrecondition unless the process that serves this connected Unix socket may be believed.
Status CheckSocketServer(int socket, const std::string& path, const DaemonTrust& trust);

// Whether the other end of this connected socket, TCP within this host, is served by who may be
// believed. False, too, before the server has accepted.
bool IsServedByTrusted(int socket, const DaemonTrust& trust);

// The keys whose artifacts are loaded: those that are pinned, else those that the daemon at `url`
// announces, if what it says `is_authenticated`. FailedPrecondition: none is to be believed.
Result<std::vector<PublicKey>> BelievedSigners(const DaemonTrust& trust,
                                               std::span<const PublicKey> announced,
                                               bool is_authenticated, const std::string& url);

// FailedPrecondition unless the other end of this connected TCP socket is on this host: a token
// that crosses a network in clear is everybody's. The address counts, not the name that led to it.
Status CheckTokenStaysHere(int socket, const std::string& url);

}  // namespace stoker
