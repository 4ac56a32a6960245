#include "daemon/net/peer.h"

#include <sys/socket.h>

#include "protocol/base/socket_user.h"

namespace stoker::net {

Peer PeerOf(int socket) {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&own), &size) != 0) return {};
  return {.over_tcp = own.ss_family != AF_UNIX, .uid = UserAtOtherEnd(socket)};
}

}  // namespace stoker::net
