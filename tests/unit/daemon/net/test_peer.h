// TestPeer: a blocking connection that speaks bytes.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <string_view>

#include "daemon/net/listener.h"

namespace stoker::net {

class TestPeer {
 public:
  explicit TestPeer(const std::string& path) : fd_(socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    connected_ = connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  // To a port of this host.
  explicit TestPeer(const ListenAddress& address) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in loopback{};
    loopback.sin_family = AF_INET;
    loopback.sin_port = htons(address.port);
    loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(fd_, reinterpret_cast<const sockaddr*>(&loopback), sizeof loopback) == 0;
  }
  ~TestPeer() { close(fd_); }
  TestPeer(const TestPeer&) = delete;
  TestPeer& operator=(const TestPeer&) = delete;

  bool connected() const { return connected_; }
  // False: the server has closed.
  bool Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }
  void EndSending() { shutdown(fd_, SHUT_WR); }
  // What comes until `end` has come, or the connection ends.
  std::string ReadUntil(const std::string& end) {
    std::string text;
    char c = 0;
    while (!text.ends_with(end) && read(fd_, &c, 1) == 1) text += c;
    return text;
  }
  std::string ReadAll() { return ReadUntil(std::string(1, '\0') + "never"); }

 private:
  int fd_;
  bool connected_ = false;
};

}  // namespace stoker::net
