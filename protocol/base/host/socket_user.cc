#include "protocol/base/host/socket_user.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cstring>

#include "protocol/base/host/file_descriptor.h"

namespace stoker {
namespace {

constexpr timeval kPatience{0, 200000};  // The kernel answers at once, or it was not asked.

struct DiagRequest {
  nlmsghdr header;
  inet_diag_req_v2 socket;
};

// One end of a TCP connection.
struct Address {
  int family = AF_UNSPEC;
  in_port_t port = 0;
  std::array<std::uint8_t, 16> bytes{};
};

std::optional<Address> AddressOf(const sockaddr_storage& storage) {
  Address address;
  address.family = storage.ss_family;
  if (storage.ss_family == AF_INET) {
    const auto& ip = reinterpret_cast<const sockaddr_in&>(storage);
    address.port = ip.sin_port;
    std::memcpy(address.bytes.data(), &ip.sin_addr, sizeof ip.sin_addr);
    return address;
  }
  if (storage.ss_family == AF_INET6) {
    const auto& ip = reinterpret_cast<const sockaddr_in6&>(storage);
    address.port = ip.sin6_port;
    std::memcpy(address.bytes.data(), &ip.sin6_addr, sizeof ip.sin6_addr);
    return address;
  }
  return std::nullopt;
}

// The owner of the socket that is bound to `from` and connected to `to`, both on this host.
std::optional<std::uint32_t> OwnerOf(const Address& from, const Address& to) {
  const FileDescriptor netlink(socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!netlink) return std::nullopt;
  setsockopt(netlink.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  DiagRequest request{};
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.socket.sdiag_family = static_cast<std::uint8_t>(from.family);
  request.socket.sdiag_protocol = IPPROTO_TCP;
  request.socket.idiag_states = ~0U;
  request.socket.id.idiag_sport = from.port;
  request.socket.id.idiag_dport = to.port;
  std::memcpy(request.socket.id.idiag_src, from.bytes.data(), from.bytes.size());
  std::memcpy(request.socket.id.idiag_dst, to.bytes.data(), to.bytes.size());
  request.socket.id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
  request.socket.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  if (send(netlink.get(), &request, sizeof request, 0) != sizeof request) return std::nullopt;

  alignas(nlmsghdr) std::array<char, 4096> reply;
  const ssize_t received = recv(netlink.get(), reply.data(), reply.size(), 0);
  if (received < static_cast<ssize_t>(NLMSG_LENGTH(sizeof(inet_diag_msg)))) return std::nullopt;
  const auto* header = reinterpret_cast<const nlmsghdr*>(reply.data());
  if (header->nlmsg_type != SOCK_DIAG_BY_FAMILY) return std::nullopt;
  const auto* found = static_cast<const inet_diag_msg*>(NLMSG_DATA(header));
  // One that its process has closed belongs to nobody, which reads as user 0.
  if (found->idiag_state == TCP_TIME_WAIT || found->idiag_inode == 0) return std::nullopt;
  return found->idiag_uid;
}

}  // namespace

std::optional<std::uint32_t> UserAtOtherEnd(int socket) {
  sockaddr_storage own{};
  sockaddr_storage other{};
  socklen_t own_size = sizeof own;
  socklen_t other_size = sizeof other;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&own), &own_size) != 0) return std::nullopt;
  if (own.ss_family == AF_UNIX) {
    ucred credentials{};
    socklen_t size = sizeof credentials;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return std::nullopt;
    return credentials.uid;
  }
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&other), &other_size) != 0) {
    return std::nullopt;
  }
  const auto from = AddressOf(other);
  const auto to = AddressOf(own);
  if (!from || !to) return std::nullopt;
  return OwnerOf(*from, *to);
}

}  // namespace stoker
