// CannedPeer: a daemon for one connection, which answers with canned bytes over a Unix socket.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "client/core/settings/url.h"
#include "tests/unit/temp_folder.h"

namespace stoker {

// Accepts one connection, reads until the end of a request header, sends `answer`; then closes, or
// stays silent until the client does, or until then sends `drip` again and again.
class CannedPeer {
 public:
  CannedPeer(std::string answer, bool stays, std::string drip = "") : path_(folder_.path() + "/s") {
    listener_ = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listener_, 1), 0);
    thread_ = std::thread([this, answer = std::move(answer), stays, drip = std::move(drip)] {
      const int fd = accept(listener_, nullptr, nullptr);
      char piece[4096];
      ssize_t n = 0;
      while (received_.find("\r\n\r\n") == std::string::npos &&
             (n = read(fd, piece, sizeof piece)) > 0) {
        received_.append(piece, static_cast<std::size_t>(n));
      }
      // The client may have given up already.
      (void)send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
      while (!drip.empty() && send(fd, drip.data(), drip.size(), MSG_NOSIGNAL) > 0) {
        std::this_thread::sleep_for(kDripInterval);
      }
      while (stays && (n = read(fd, piece, sizeof piece)) > 0) {
        received_.append(piece, static_cast<std::size_t>(n));
      }
      close(fd);
    });
  }
  ~CannedPeer() {
    if (thread_.joinable()) thread_.join();
    close(listener_);
  }
  DaemonUrl url() const { return *DaemonUrl::Parse("unix:" + path_); }
  // All that it read; waits for the end of the connection.
  std::string Received() {
    thread_.join();
    return received_;
  }

 private:
  static constexpr std::chrono::milliseconds kDripInterval{2};

  TempFolder folder_;
  const std::string path_;
  int listener_;
  std::string received_;  // The thread's, until it has ended.
  std::thread thread_;
};

}  // namespace stoker
