// TlsStream: the server's end of an encrypted connection. For tls_server.cc, which makes them.
#pragma once

#include <openssl/types.h>

#include <memory>

#include "daemon/net/stream/tls_server.h"

namespace stoker::net {

// `log` is told why a handshake fails; it outlives the stream, `context` need not.
std::unique_ptr<Stream> TlsStream(StreamSocket socket, SSL_CTX* context, const TlsServer::Log& log);

}  // namespace stoker::net
