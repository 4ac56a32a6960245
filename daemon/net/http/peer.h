// Peer: who is at the other end of a connection, as far as the kernel knows or a certificate says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stoker::net {

struct Peer {
  bool over_tcp = false;
  bool over_tls = false;
  bool over_network = false;  // Came to an address that other hosts reach.
  // Of the process that connected, if it runs on this host and its user can be known.
  std::optional<std::uint32_t> uid;
  // Of the certificate that it has shown and that was verified: its subject's common name and its
  // alternative names, as far as there are any, else its digest. Empty: it has shown none.
  std::vector<std::string> certificate_names;

  // Whether anything says who it is.
  bool is_known() const { return uid.has_value() || !certificate_names.empty(); }
  bool operator==(const Peer&) const = default;
};

// Of a connected socket. Of what came over the network no user is known: a proxy on this host would
// lend its own to everybody.
Peer PeerOf(int socket, bool over_network);

}  // namespace stoker::net
