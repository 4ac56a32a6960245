// TlsServer: the daemon's end of TLS 1.3: what it shows to those who connect, and what it asks of
// them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "daemon/net/stream/stream.h"
#include "protocol/base/result.h"

namespace stoker::net {

// Paths of PEM files. Nobody but root and the daemon's user may write to them.
struct TlsFiles {
  std::string certificate;  // The daemon's own, then those that lead to its root.
  std::string key;          // Of the certificate, without a pass phrase; nobody else may read it.
  // Who signs clients' certificates. A client must show one then. Empty: none is asked for.
  std::string client_ca;
};

class TlsServer {
 public:
  using Log = std::function<void(std::string_view)>;  // From any thread.

  // `log` is told of handshakes that fail. FailedPrecondition or InvalidArgument: a file cannot be
  // read, may be changed (the key: read) by others, or does not hold what it should.
  static Result<std::unique_ptr<TlsServer>> Open(TlsFiles files, Log log);
  ~TlsServer();

  // Encrypts what goes over `socket`, with the certificate of this moment. The server outlives it.
  std::unique_ptr<Stream> Encrypted(StreamSocket socket) const;

  // The certificate's subject and how long it lasts, for logs.
  std::string Describe() const;

  // Reads the files again; false where they are those that were read last. On an error what was
  // read before counts. Connections that are open keep what they began with; sessions of before are
  // not resumed. These from any thread.
  Result<bool> Reload();
  // The same once they have stayed as they are since the call before: where files are replaced one
  // after the other, the first does not fit the second for a moment. An error comes once.
  Result<bool> ReloadSettled();

 private:
  struct State;
  explicit TlsServer(std::unique_ptr<State> state);
  Result<bool> Read();

  const std::unique_ptr<State> state_;
};

}  // namespace stoker::net
