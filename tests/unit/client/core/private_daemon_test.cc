#include "client/core/daemon/private_daemon.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>

#include "tests/unit/temp_folder.h"

namespace stoker {
namespace {

using std::chrono::seconds;

// Accepts every connection; answers only after it has seen `silent` of them come and go.
class SlowDaemon {
 public:
  SlowDaemon(const std::string& path, int silent) : listener_(socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listener_, 8), 0);
    thread_ = std::thread([this, silent] { Serve(silent); });
  }
  ~SlowDaemon() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }

  int answered() const { return answered_; }

 private:
  void Serve(int silent) {
    constexpr char kReady[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    while (true) {
      const int peer = accept(listener_, nullptr, nullptr);
      if (peer < 0) return;
      char request[4096];
      // A look at whether somebody listens sends nothing.
      while (read(peer, request, sizeof request) > 0) {
        if (silent-- > 0) continue;
        ++answered_;
        EXPECT_EQ(send(peer, kReady, sizeof kReady - 1, MSG_NOSIGNAL),
                  static_cast<ssize_t>(sizeof kReady - 1));
      }
      close(peer);
    }
  }

  const int listener_;
  std::atomic<int> answered_{0};
  std::thread thread_;
};

class PrivateDaemonTest : public testing::Test {
 protected:
  Status Ensure(seconds timeout) {
    return EnsurePrivateDaemon({folder_.path(), "/bin/false"}, url_, timeout);
  }

  TempFolder folder_;
  const DaemonUrl url_ = PrivateDaemonUrl(folder_.path());
};

TEST_F(PrivateDaemonTest, Ensure_DaemonThatIsSlowToAnswer_StartsNoOther) {
  const SlowDaemon daemon(url_.path, /*silent=*/2);
  const Status status = Ensure(seconds(60));
  EXPECT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(daemon.answered(), 1);
}

TEST_F(PrivateDaemonTest, Ensure_NobodyListensAndTheProgramFails_NamesProgramAndLog) {
  const Status status = Ensure(seconds(60));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message,
            "'/bin/false' stopped at once (status 1); see " + folder_.path() + "/stokerd.log.");
}

TEST_F(PrivateDaemonTest, Ensure_TheProgramSaysWhyItStops_IsQuoted) {
  folder_.Write("stokerd.log", "stokerd: of another day\n");
  const std::string program = folder_.Write(
      "program", "#!/bin/sh\necho 'stokerd: no \x1b room'\necho 'another that drains'\nexit 3\n");
  ASSERT_EQ(chmod(program.c_str(), 0700), 0);
  const Status status = EnsurePrivateDaemon({folder_.path(), program}, url_, seconds(60));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "'" + program +
                                        "' stopped at once (status 3), saying \"no ? room\"; see " +
                                        folder_.path() + "/stokerd.log.");
}

}  // namespace
}  // namespace stoker
