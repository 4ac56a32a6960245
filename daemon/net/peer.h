// Peer: who is at the other end of a connection, as far as the kernel knows.
#pragma once

#include <cstdint>
#include <optional>

namespace stoker::net {

struct Peer {
  bool over_tcp = false;
  // Of the process that connected, if it runs on this host and its user can be known.
  std::optional<std::uint32_t> uid;
};

// Of a connected socket. A Unix socket's peer is who connected (SO_PEERCRED); that of a TCP
// connection within this host is the owner of the socket at the other end (sock_diag(7)).
Peer PeerOf(int socket);

}  // namespace stoker::net
