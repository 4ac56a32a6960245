#include "client/core/daemon_client.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <thread>

#include "tests/unit/temp_folder.h"
#include "tests/unit/wait_until.h"

namespace stoker {
namespace {

using namespace std::chrono_literals;

// Takes connections and says nothing.
class SilentPeer {
 public:
  explicit SilentPeer(const std::string& path)
      : path_(path), listener_(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0)) {
    unlink(path_.c_str());
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listener_, 8), 0);
  }
  ~SilentPeer() { close(listener_); }
  DaemonUrl url() const { return *DaemonUrl::Parse("unix:" + path_); }
  // Those that came since the last call, which are closed then.
  int EachConnection(const std::function<void(int)>& serve) {
    int count = 0;
    for (int fd = 0; (fd = accept(listener_, nullptr, nullptr)) >= 0; ++count) {
      serve(fd);
      close(fd);
    }
    return count;
  }
  // How many came since the last call; leaves them without an answer for good.
  int Accept() {
    return EachConnection([](int) {});
  }

 private:
  const std::string path_;
  const int listener_;
};

TEST(DaemonClient, Hello_DaemonHangs_WaitsOnceForManyCalls) {
  const TempFolder folder;
  SilentPeer peer(folder.path() + "/s");
  DaemonClientOptions options;
  options.url = peer.url();
  options.connect_timeout = 500ms;
  DaemonClient client(options);
  for (int call = 0; call < 5; ++call) {
    const auto hello = client.Hello();
    ASSERT_FALSE(hello.ok());
    EXPECT_EQ(hello.error().code, ErrorCode::kDeadlineExceeded) << hello.error().message;
  }
  EXPECT_EQ(peer.Accept(), 1);
}

TEST(DaemonClient, Compile_DaemonFallsSilent_IsGivenUpOnce) {
  const TempFolder folder;
  SilentPeer peer(folder.path() + "/s");
  DaemonClientOptions options;
  options.url = peer.url();
  options.compile_timeout = 200ms;
  DaemonClient client(options);
  for (int call = 0; call < 5; ++call) {
    const auto bundle = client.Compile({}, nullptr);
    ASSERT_FALSE(bundle.ok());
    EXPECT_EQ(bundle.error().code, ErrorCode::kDeadlineExceeded) << bundle.error().message;
  }
  EXPECT_EQ(peer.Accept(), 1);
}

TEST(DaemonClient, Hello_DaemonComesUpLater_IsReachedAfterARest) {
  DaemonClientOptions options;
  options.connect_timeout = 100ms;
  const TempFolder folder;
  const std::string path = folder.path() + "/s";
  options.url = SilentPeer(path).url();
  DaemonClient client(options);
  EXPECT_EQ(client.Hello().error().code,
            ErrorCode::kUnavailable);  // Nobody listens: known at once.
  const SilentPeer peer(path);
  // That took next to no time, and so does the rest after it: the peer is reached.
  WaitUntil("the peer is reached",
            [&] { return client.Hello().error().code == ErrorCode::kDeadlineExceeded; });
}

// Answers nothing until it is told to: then every request with an empty 404.
class SlowDaemon {
 public:
  explicit SlowDaemon(const std::string& path) : peer_(path) {
    thread_ = std::thread([this] {
      while (!ends_) {
        peer_.EachConnection([this](int fd) {
          ++connections_;
          char piece[4096];
          const ssize_t n = recv(fd, piece, sizeof piece, 0);  // Of a client that sends or leaves.
          if (n > 0 && answers_) {
            constexpr char kAnswer[] = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
            (void)send(fd, kAnswer, sizeof kAnswer - 1, MSG_NOSIGNAL);
          }
          while (recv(fd, piece, sizeof piece, 0) > 0) {
          }
        });
        std::this_thread::sleep_for(1ms);
      }
    });
  }
  ~SlowDaemon() {
    ends_ = true;
    thread_.join();
  }
  DaemonUrl url() const { return peer_.url(); }
  int connections() const { return connections_; }
  void StartAnswering() { answers_ = true; }

 private:
  SilentPeer peer_;
  std::atomic<bool> ends_{false};
  std::atomic<bool> answers_{false};
  std::atomic<int> connections_{0};
  std::thread thread_;
};

TEST(DaemonClient, Lookup_SlowDaemon_IsLeftAlone_UntilItAnswersInTheBackground) {
  const TempFolder folder;
  SlowDaemon daemon(folder.path() + "/s");
  DaemonClientOptions options;
  options.url = daemon.url();
  options.answer_timeout = 100ms;
  DaemonClient client(options);
  const auto slow = client.Lookup({});
  ASSERT_FALSE(slow.ok());
  EXPECT_EQ(slow.error().code, ErrorCode::kDeadlineExceeded);
  EXPECT_NE(slow.error().message.find("is not answered within 100 ms."), std::string::npos);
  const int connections = daemon.connections();
  for (int call = 0; call < 100; ++call) {
    const auto refused = client.Lookup({});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().message, slow.error().message);  // One warning for all of them.
  }
  EXPECT_LE(daemon.connections(), connections + 1);  // The first probe may have come by now.
  daemon.StartAnswering();
  WaitUntil("calls go through", [&] {
    const auto answer = client.Lookup({});
    return answer.ok() || answer.error().code != ErrorCode::kDeadlineExceeded;
  });
}

}  // namespace
}  // namespace stoker
