#include "client/core/daemon_client.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <string>

namespace stoker {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Takes connections and says nothing.
class SilentPeer {
 public:
  SilentPeer() : path_(testing::TempDir() + "/silent-" + std::to_string(getpid()) + ".sock") {
    unlink(path_.c_str());
    listener_ = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listener_, 8), 0);
  }
  ~SilentPeer() {
    close(listener_);
    unlink(path_.c_str());
  }
  DaemonUrl url() const { return *DaemonUrl::Parse("unix:" + path_); }

 private:
  std::string path_;
  int listener_;
};

TEST(DaemonClient, Hello_DaemonHangs_WaitsOnceForManyCalls) {
  const SilentPeer peer;
  DaemonClientOptions options;
  options.url = peer.url();
  options.connect_timeout = 200ms;
  DaemonClient client(options);
  const Clock::time_point start = Clock::now();
  for (int call = 0; call < 5; ++call) {
    const auto hello = client.Hello();
    ASSERT_FALSE(hello.ok());
    EXPECT_EQ(hello.error().code, ErrorCode::kDeadlineExceeded) << hello.error().message;
  }
  const auto waited = Clock::now() - start;
  EXPECT_GE(waited, 200ms);
  EXPECT_LT(waited, 800ms);
}

TEST(DaemonClient, Hello_DaemonComesUpLater_IsReachedAfterARest) {
  DaemonClientOptions options;
  options.connect_timeout = 100ms;
  {
    const SilentPeer peer;
    options.url = peer.url();
  }
  DaemonClient client(options);
  EXPECT_EQ(client.Hello().error().code,
            ErrorCode::kUnavailable);  // Nobody listens: known at once.
  const SilentPeer peer;
  // That took next to no time, and so does the rest after it: the peer is reached.
  const Clock::time_point deadline = Clock::now() + 5s;
  ErrorCode code = ErrorCode::kUnavailable;
  while (code == ErrorCode::kUnavailable && Clock::now() < deadline) {
    code = client.Hello().error().code;
  }
  EXPECT_EQ(code, ErrorCode::kDeadlineExceeded);
}

}  // namespace
}  // namespace stoker
