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

// Of a connected socket.
Peer PeerOf(int socket);

}  // namespace stoker::net
