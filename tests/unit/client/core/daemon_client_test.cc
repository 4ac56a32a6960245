#include "client/core/daemon/daemon_client.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

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

class SlowDaemonClient : public testing::TestWithParam<bool> {
 protected:
  // Whether it is the client's to start, as what the program /bin/false is.
  DaemonClientOptions OptionsFor(const SlowDaemon& daemon) const {
    DaemonClientOptions options;
    options.url = daemon.url();
    options.connect_timeout = 1h;
    options.answer_timeout = 100ms;
    if (GetParam()) options.private_daemon = {folder_.path(), "/bin/false"};
    return options;
  }

  const TempFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(All, SlowDaemonClient, testing::Bool(), [](const auto& each) {
  return std::string(each.param ? "Private" : "Named");
});

TEST_P(SlowDaemonClient, Hello_IsGivenUpForEveryCall) {
  SlowDaemon daemon(folder_.path() + "/s");
  DaemonClient client(OptionsFor(daemon));
  const auto slow = client.Hello();
  ASSERT_FALSE(slow.ok());
  EXPECT_NE(slow.error().message.find("is not answered within 100 ms."), std::string::npos);
  for (const auto& refused : {Status(client.Hello().error()), Status(client.Lookup({}).error()),
                              Status(client.Get("/status").error()), client.Report({})}) {
    EXPECT_EQ(refused.error().message, slow.error().message);
  }
}

TEST(DaemonClient, Hello_HungDaemonOfOursIsGone_IsStartedAgain) {
  const TempFolder folder;
  auto daemon = std::make_unique<SlowDaemon>(folder.path() + "/s");
  DaemonClientOptions options;
  options.url = daemon->url();
  options.private_daemon = {folder.path(), "/bin/false"};
  options.answer_timeout = 100ms;
  DaemonClient client(options);
  EXPECT_EQ(client.Hello().error().code, ErrorCode::kDeadlineExceeded);
  daemon.reset();
  WaitUntil("it is started again", [&] {
    return client.Hello().error().message.find("'/bin/false' stopped at once") != std::string::npos;
  });
}

TEST_P(SlowDaemonClient, Lookup_IsLeftAlone_UntilItAnswersInTheBackground) {
  SlowDaemon daemon(folder_.path() + "/s");
  DaemonClient client(OptionsFor(daemon));
  const auto slow = client.Lookup({});
  ASSERT_FALSE(slow.ok());
  EXPECT_EQ(slow.error().code, ErrorCode::kDeadlineExceeded);
  EXPECT_NE(slow.error().message.find("is not answered within 100 ms."), std::string::npos);
  WaitUntil("its connection is counted", [&] { return daemon.connections() > 0; });
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

// Answers what comes over the nth connection, from 0 on, with `answer(n, request)`, and closes it.
class OneAnswerDaemon {
 public:
  using Answer = std::function<std::string(int number, const std::string& request)>;

  OneAnswerDaemon(const std::string& path, Answer answer) : peer_(path) {
    thread_ = std::thread([this, answer = std::move(answer)] {
      while (!ends_) {
        peer_.EachConnection([&](int fd) {
          char piece[4096];
          const ssize_t n = recv(fd, piece, sizeof piece, 0);
          if (n <= 0) return;
          const std::string text = answer(count_, {piece, static_cast<std::size_t>(n)});
          ++count_;
          (void)send(fd, text.data(), text.size(), MSG_NOSIGNAL);
        });
        std::this_thread::sleep_for(1ms);
      }
    });
  }
  ~OneAnswerDaemon() {
    ends_ = true;
    thread_.join();
  }
  DaemonUrl url() const { return peer_.url(); }
  int count() const { return count_; }

 private:
  SilentPeer peer_;
  std::atomic<bool> ends_{false};
  std::atomic<int> count_{0};
  std::thread thread_;
};

constexpr std::string_view kContent = "abcdefghijklmnopqrstuvwxyz";

// The first byte that is asked for.
std::size_t FirstOf(const std::string& request) {
  const std::size_t at = request.find("Range: bytes=");
  return at == std::string::npos ? 0 : std::stoul(request.substr(at + 13));
}

// kContent from `first` on, of which `bytes` come.
std::string PartFrom(std::size_t first, std::size_t bytes) {
  const std::string rest(kContent.substr(first));
  return "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes " + std::to_string(first) +
         "-25/26" + "\r\nContent-Length: " + std::to_string(rest.size()) + "\r\n\r\n" +
         rest.substr(0, bytes);
}

std::string WholeOf(std::size_t bytes) {
  return "HTTP/1.1 200 OK\r\nContent-Length: 26\r\n\r\n" + std::string(kContent.substr(0, bytes));
}

std::string CutSomewhere(int number) {
  return WholeOf(static_cast<std::size_t>(5 + number * 7 % 11));
}

Result<std::string> BlobFrom(const OneAnswerDaemon& daemon) {
  DaemonClientOptions options;
  options.url = daemon.url();
  DaemonClient client(options);
  return client.GetBlob(Sha256Of(kContent));
}

TEST(DaemonClient, GetBlob_EveryConnectionIsCut_GoesOnUntilItIsWhole) {
  const TempFolder folder;
  OneAnswerDaemon daemon(folder.path() + "/s", [](int number, const std::string& request) {
    return number == 0 ? WholeOf(2) : PartFrom(FirstOf(request), 2);
  });
  const auto blob = BlobFrom(daemon);
  ASSERT_TRUE(blob.ok()) << blob.error().message;
  EXPECT_EQ(*blob, kContent);
  EXPECT_EQ(daemon.count(), 13);
}

TEST(DaemonClient, GetBlob_DamagedRange_IsAskedForAnew) {
  const TempFolder folder;
  OneAnswerDaemon daemon(folder.path() + "/s", [](int number, const std::string&) {
    if (number == 0) return WholeOf(20);
    return number == 1 ? PartFrom(10, 16) : WholeOf(26);
  });
  const auto blob = BlobFrom(daemon);
  ASSERT_TRUE(blob.ok()) << blob.error().message;
  EXPECT_EQ(*blob, kContent);
}

TEST(DaemonClient, GetBlob_CutHereAndThere_IsGivenUpSoon) {
  const struct {
    const char* what;
    OneAnswerDaemon::Answer answer;
  } kDaemons[] = {
      {"no ranges", [](int number, const std::string&) { return CutSomewhere(number); }},
      {"wrong ranges",
       [](int number, const std::string& request) {
         return FirstOf(request) == 0 ? CutSomewhere(number) : PartFrom(0, 4);
       }},
      {"a range that nobody asked for", [](int, const std::string&) { return PartFrom(0, 6); }},
      {"a part of nothing",
       [](int, const std::string& request) {
         return FirstOf(request) == 0 ? WholeOf(5)
                                      : "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes "
                                        "5-25/26\r\nContent-Length: 0\r\n\r\n";
       }},
  };
  for (const auto& [what, answer] : kDaemons) {
    const TempFolder folder;
    const OneAnswerDaemon daemon(folder.path() + "/s", answer);
    const auto blob = BlobFrom(daemon);
    ASSERT_FALSE(blob.ok()) << what;
    EXPECT_EQ(blob.error().code, ErrorCode::kUnavailable) << what;
    EXPECT_NE(blob.error().message.find("gets no further than "), std::string::npos)
        << blob.error().message;
    EXPECT_LE(daemon.count(), 60) << what;
  }
}

TEST(DaemonClient, GetBlob_OddStatus_IsAnError) {
  for (const std::string_view status :
       {"204 No Content", "302 Found", "416 Range Not Satisfiable"}) {
    const TempFolder folder;
    const OneAnswerDaemon daemon(folder.path() + "/s", [&](int, const std::string&) {
      return "HTTP/1.1 " + std::string(status) + "\r\nContent-Length: 0\r\n\r\n";
    });
    const auto blob = BlobFrom(daemon);
    ASSERT_FALSE(blob.ok());
    EXPECT_NE(blob.error().message.find("answers HTTP " + std::string(status.substr(0, 3))),
              std::string::npos)
        << blob.error().message;
    EXPECT_EQ(daemon.count(), 1);
  }
}

}  // namespace
}  // namespace stoker
