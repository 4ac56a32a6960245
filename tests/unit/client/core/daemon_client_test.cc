#include "client/core/daemon_client.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <string>

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
  // How many came since the last call; leaves them without an answer for good.
  int Accept() {
    int count = 0;
    for (int fd = 0; (fd = accept(listener_, nullptr, nullptr)) >= 0; ++count) close(fd);
    return count;
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

}  // namespace
}  // namespace stoker
