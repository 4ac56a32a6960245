// Who is at the other end of a connection, as far as the kernel knows.
#pragma once

#include <cstdint>
#include <optional>

namespace stoker {

// The user of the process at the other end of a connected socket, if it runs on this host and can
// be known. Of a Unix socket: who connected, or who listens (SO_PEERCRED); of a TCP connection
// within this host: the owner of the socket at the other end (sock_diag(7)), which a server has
// from when it accepts.
std::optional<std::uint32_t> UserAtOtherEnd(int socket);

}  // namespace stoker
