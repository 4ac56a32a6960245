// Long bodies: they wait for leave, and go on where connections break.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "client/core/daemon/daemon_client.h"
#include "protocol/wire/limits.h"
#include "tests/unit/client/core/canned_peer.h"
#include "tests/unit/temp_folder.h"

namespace stoker {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 60s;  // Never used up.
constexpr std::string_view kLeave = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr std::string_view kOffer =
    "HTTP/1.1 104 Upload Resumption Supported\r\nLocation: /uploads/1\r\n"
    "Upload-Draft-Interop-Version: 8\r\n\r\n";
constexpr std::string_view kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

std::string LongBody() {
  std::string body;
  while (body.size() < 3 * wire::kLongBodyBytes) body += std::to_string(body.size()) + " ";
  return body;
}

std::string Answer(std::string_view status, std::string_view fields = "") {
  return "HTTP/1.1 " + std::string(status) + "\r\nContent-Length: 0\r\n" + std::string(fields) +
         "\r\n";
}

// What Call says to a peer that answers its header so.
Result<HttpResponse> CallTo(CannedPeer& peer, const std::string& body, PartialUpload& upload,
                            std::chrono::milliseconds patience = kPatience) {
  auto connection = HttpConnection::Connect(peer.url(), kPatience);
  EXPECT_TRUE(connection.ok());
  auto response = (*connection)->Call("PUT", "/x", body, patience, &upload);
  EXPECT_TRUE(response.ok() || !(*connection)->usable());
  return response;
}

TEST(LongBody, Refused_IsNotSent) {
  for (const char* refusal : {"401 Unauthorized", "413 Too Large", "507 Full"}) {
    for (const std::string_view before : {std::string_view(), kOffer}) {
      CannedPeer peer(std::string(before) + Answer(refusal), true);
      PartialUpload upload;
      const auto response = CallTo(peer, LongBody(), upload);
      ASSERT_TRUE(response.ok()) << response.error().message;
      EXPECT_EQ(response->status, std::stoi(refusal));
      EXPECT_EQ(upload.location, "");
      const std::string received = peer.Received();
      EXPECT_TRUE(received.ends_with("\r\n\r\n"));
      EXPECT_NE(received.find("\r\nExpect: 100-continue\r\n"), std::string::npos);
      EXPECT_NE(received.find("\r\nUpload-Complete: ?1\r\n"), std::string::npos);
      EXPECT_NE(received.find("\r\nUpload-Draft-Interop-Version: 8\r\n"), std::string::npos);
    }
  }
}

TEST(LongBody, Refused_EndsTheConnection) {
  CannedPeer peer(Answer("401 Unauthorized"), true);
  auto connection = HttpConnection::Connect(peer.url(), kPatience);
  ASSERT_TRUE(connection.ok());
  ASSERT_TRUE((*connection)->Call("PUT", "/x", LongBody(), kPatience).ok());
  EXPECT_FALSE((*connection)->usable());
  connection->reset();
}

TEST(LongBody, WithLeave_IsSentWhole) {
  CannedPeer peer(std::string(kOffer) + std::string(kLeave) + std::string(kOk), true);
  PartialUpload upload;
  const std::string body = LongBody();
  const auto response = CallTo(peer, body, upload);
  ASSERT_TRUE(response.ok()) << response.error().message;
  EXPECT_EQ(response->body, "ok");
  EXPECT_EQ(upload.location, "");
  EXPECT_TRUE(peer.Received().ends_with("\r\n\r\n" + body));
}

TEST(LongBody, WithoutAnyLeave_IsSentAfterAMoment) {
  CannedPeer peer("", true);
  PartialUpload upload;
  const std::string body = LongBody();
  const auto response = CallTo(peer, body, upload, 2s);
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code, ErrorCode::kDeadlineExceeded);
  EXPECT_TRUE(peer.Received().ends_with("\r\n\r\n" + body));
}

TEST(LongBody, ShortOne_WaitsForNothing) {
  CannedPeer peer(std::string(kOk), true);
  PartialUpload upload;
  const auto response = CallTo(peer, std::string(wire::kLongBodyBytes, 'x'), upload);
  ASSERT_TRUE(response.ok()) << response.error().message;
  const std::string received = peer.Received();
  EXPECT_EQ(received.find("Expect"), std::string::npos);
  EXPECT_EQ(received.find("Upload-"), std::string::npos);
}

TEST(LongBody, Cut_GoesOnWhereTheOfferSays_IfItIsOne) {
  const struct {
    const char* what;
    std::string offer;
    const char* location;
  } kOffers[] = {
      {"an offer", std::string(kOffer), "/uploads/1"},
      {"no offer", "", ""},
      {"another version",
       "HTTP/1.1 104 x\r\nLocation: /uploads/1\r\nUpload-Draft-Interop-Version: 7\r\n\r\n", ""},
      {"no version", "HTTP/1.1 104 x\r\nLocation: /uploads/1\r\n\r\n", ""},
      {"another host",
       "HTTP/1.1 104 x\r\nLocation: http://evil/1\r\nUpload-Draft-Interop-Version: 8\r\n\r\n", ""},
      {"no location", "HTTP/1.1 104 x\r\nUpload-Draft-Interop-Version: 8\r\n\r\n", ""},
  };
  for (const auto& [what, offer, location] : kOffers) {
    CannedPeer peer(offer + std::string(kLeave), false);
    PartialUpload upload;
    const auto response = CallTo(peer, LongBody(), upload);
    ASSERT_FALSE(response.ok()) << what;
    EXPECT_EQ(response.error().code, ErrorCode::kUnavailable) << what;
    EXPECT_EQ(upload.location, location) << what;
  }
}

// A daemon that keeps what it gets of one upload, and cuts each connection after so many bytes of
// bodies.
class KeepingPeer {
 public:
  // What is answered instead to the nth request, from 0 on; empty: what is right.
  using Instead = std::function<std::string(int number, const std::string& method)>;

  explicit KeepingPeer(std::size_t bytes_each, Instead instead = {}, std::string answer = {})
      : bytes_each_(bytes_each),
        instead_(std::move(instead)),
        answer_(answer.empty() ? Answer("200 OK") : std::move(answer)),
        path_(folder_.path() + "/s"),
        listener_(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listener_, 8), 0);
    thread_ = std::thread([this] {
      while (!ends_) {
        if (const int fd = accept(listener_, nullptr, nullptr); fd >= 0) {
          ++connections_;
          Serve(fd);
          close(fd);
        } else {
          std::this_thread::sleep_for(1ms);
        }
      }
    });
  }
  ~KeepingPeer() {
    Stop();
    close(listener_);
  }

  DaemonClientOptions options() const {
    DaemonClientOptions options;
    options.url = *DaemonUrl::Parse("unix:" + path_);
    return options;
  }
  void Stop() {
    ends_ = true;
    if (thread_.joinable()) thread_.join();
  }
  // These, after it was stopped.
  const std::string& kept() const { return kept_; }
  const std::string& methods() const { return methods_; }
  std::size_t bytes() const { return bytes_; }
  int connections() const { return connections_; }

 private:
  void Serve(int fd) {
    std::size_t budget = bytes_each_;
    const timeval patience{1, 0};  // The client keeps connections that are good.
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    while (!ends_ && ServeOne(fd, &budget)) {
    }
  }
  bool ServeOne(int fd, std::size_t* budget) {
    std::string head;
    char c = 0;
    while (!head.ends_with("\r\n\r\n")) {
      if (recv(fd, &c, 1, 0) != 1) return false;
      head += c;
    }
    const std::string method = head.substr(0, head.find(' '));
    methods_ += method + " ";
    const std::string instead = instead_ ? instead_(count_++, method) : "";
    if (!instead.empty()) return Send(fd, instead) && instead.starts_with("HTTP/1.1 404");
    if (method == "HEAD") {
      return Send(fd, "HTTP/1.1 204 No Content\r\nUpload-Offset: " + std::to_string(kept_.size()) +
                          "\r\n\r\n");
    }
    const std::size_t length = NumberAfter(head, "\r\nContent-Length: ");
    if (method == "PATCH") {
      EXPECT_EQ(NumberAfter(head, "\r\nUpload-Offset: "), kept_.size());
      EXPECT_NE(head.find("\r\nContent-Type: application/partial-upload\r\n"), std::string::npos);
    } else {
      kept_.clear();
      Send(fd, std::string(kOffer));
    }
    if (head.find("Expect: ") != std::string::npos) Send(fd, std::string(kLeave));
    for (std::size_t have = 0; have < length;) {
      char piece[65536];
      const ssize_t n = recv(fd, piece, std::min({sizeof piece, length - have, *budget}), 0);
      if (n <= 0) return false;
      kept_.append(piece, static_cast<std::size_t>(n));
      bytes_ += static_cast<std::size_t>(n);
      have += static_cast<std::size_t>(n);
      *budget -= static_cast<std::size_t>(n);
    }
    std::string answer = answer_;
    if (method == "PATCH") answer.insert(answer.find("\r\n") + 2, "Upload-Complete: ?1\r\n");
    return Send(fd, answer);
  }
  static bool Send(int fd, const std::string& text) {
    return send(fd, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  static std::size_t NumberAfter(const std::string& head, const std::string& name) {
    const std::size_t at = head.find(name);
    return at == std::string::npos ? 0 : std::stoul(head.substr(at + name.size()));
  }

  const std::size_t bytes_each_;
  const Instead instead_;
  const std::string answer_;
  TempFolder folder_;
  const std::string path_;
  const int listener_;
  std::atomic<bool> ends_{false};
  std::string kept_;  // The thread's, as what follows.
  std::string methods_;
  std::size_t bytes_ = 0;
  int count_ = 0;
  int connections_ = 0;
  std::thread thread_;
};

// Puts it as a blob.
Status Put(const std::string& body, KeepingPeer& peer) {
  DaemonClient client(peer.options());
  return client.PutBlob(Sha256Of("x"), body);
}

TEST(Uploads, EveryConnectionIsCut_GoOnUntilAllIsThere) {
  const std::string body = LongBody();
  KeepingPeer peer(200'000);
  const Status put = Put(body, peer);
  EXPECT_TRUE(put.ok()) << put.error().message;
  peer.Stop();
  EXPECT_TRUE(peer.kept() == body);
  EXPECT_EQ(peer.bytes(), body.size());
  EXPECT_EQ(peer.connections(), 16);
}

TEST(Uploads, ThatGetNoFurther_AreGivenUpSoon) {
  const struct {
    const char* what;
    std::size_t bytes_each;
    KeepingPeer::Instead instead;
  } kPeers[] = {
      {"nothing passes", 0, {}},
      {"it keeps nothing", 200'000,
       [](int, const std::string& method) { return method == "HEAD" ? Answer("404 x") : ""; }},
      {"it moves", 200'000,
       [](int, const std::string& method) {
         return method == "PATCH" ? Answer("409 Conflict", "Upload-Offset: 5\r\n") : "";
       }},
      {"it is always busy", 200'000,
       [](int, const std::string& method) { return method == "HEAD" ? Answer("503 x") : ""; }},
  };
  for (const auto& [what, bytes_each, instead] : kPeers) {
    KeepingPeer peer(bytes_each, instead);
    const Status put = Put(LongBody(), peer);
    ASSERT_FALSE(put.ok()) << what;
    EXPECT_EQ(put.error().code, ErrorCode::kUnavailable) << what << ": " << put.error().message;
    peer.Stop();
    EXPECT_LE(peer.connections(), 20) << what;
  }
}

TEST(Uploads, Forgotten_BeginAnew) {
  const std::string body = LongBody();
  for (const std::string_view forgets : {"HEAD", "PATCH"}) {
    bool has_forgotten = false;
    KeepingPeer peer(body.size() - 1, [&](int, const std::string& method) {
      if (method != forgets || std::exchange(has_forgotten, true)) return std::string();
      return Answer("404 Not Found", method == "HEAD" ? "" : "Connection: close\r\n");
    });
    const Status put = Put(body, peer);
    EXPECT_TRUE(put.ok()) << put.error().message;
    peer.Stop();
    EXPECT_TRUE(peer.kept() == body);
    EXPECT_EQ(peer.methods(),
              forgets == "HEAD" ? "PUT HEAD PUT HEAD PATCH " : "PUT HEAD PATCH PUT HEAD PATCH ");
  }
}

TEST(Uploads, RefusedInTheMiddle_EndWithThat) {
  KeepingPeer peer(200'000, [](int, const std::string& method) {
    return method == "PATCH" ? Answer("413 Too Large", "Connection: close\r\n") : "";
  });
  const Status put = Put(LongBody(), peer);
  ASSERT_FALSE(put.ok());
  EXPECT_NE(put.error().message.find("413"), std::string::npos) << put.error().message;
  peer.Stop();
  EXPECT_EQ(peer.methods(), "PUT HEAD PATCH ");
}

TEST(Uploads, AnsweredWithAnError_AreNotRepeated) {
  for (const char* status : {"404 Not Found", "409 Conflict"}) {
    KeepingPeer peer(2'000'000, {}, Answer(status));
    const Status put = Put(LongBody(), peer);
    ASSERT_FALSE(put.ok());
    EXPECT_NE(put.error().message.find(std::string(status).substr(0, 3)), std::string::npos);
    peer.Stop();
    EXPECT_EQ(peer.methods(), "PUT HEAD PATCH ");
  }
}

TEST(Uploads, OfACompile_GoOnUntilAllIsThere) {
  wire::CompileCall call;
  call.graph = LongBody();
  KeepingPeer peer(200'000, {}, Answer("507 Full"));
  DaemonClient client(peer.options());
  const auto bundle = client.Compile(call, {});
  ASSERT_FALSE(bundle.ok());
  EXPECT_NE(bundle.error().message.find("507"), std::string::npos) << bundle.error().message;
  peer.Stop();
  EXPECT_TRUE(peer.kept() == wire::EncodeCompileCall(call));
  EXPECT_EQ(peer.bytes(), peer.kept().size());
}

}  // namespace
}  // namespace stoker
