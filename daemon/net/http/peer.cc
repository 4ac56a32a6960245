#include "daemon/net/http/peer.h"

#include <sys/socket.h>

#include "protocol/base/host/socket_user.h"

namespace stoker::net {

Peer PeerOf(int socket, bool over_network) {
  Peer peer;
  peer.over_network = over_network;
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&own), &size) != 0) return peer;
  peer.over_tcp = own.ss_family != AF_UNIX;
  if (!peer.over_tcp || !over_network) peer.uid = UserAtOtherEnd(socket);
  return peer;
}

}  // namespace stoker::net
