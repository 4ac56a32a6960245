#include "daemon/net/stream/tls_server.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "protocol/wire/messages.h"
#include "tests/unit/daemon/net/echo_handler.h"
#include "tests/unit/daemon/net/test_peer.h"
#include "tests/unit/daemon/net/tls_peer.h"
#include "tests/unit/temp_folder.h"
#include "tests/unit/wait_until.h"

namespace stoker::net {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Contains;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

std::string Post(const std::string& path, const std::string& body,
                 const std::string& headers = "") {
  return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string BodyOf(const std::string& answer) { return answer.substr(answer.find("\r\n\r\n") + 4); }

class TlsServerTest : public testing::Test {
 protected:
  void Start(const std::string& client_ca = "", ServerLimits limits = {}) {
    files_ = authority_.IssueIn(folder_.path(), "daemon", {.name = "first"});
    auto tls = TlsServer::Open({files_.certificate, files_.key, client_ca},
                               [this](std::string_view event) {
                                 const std::lock_guard lock(mutex_);
                                 events_.emplace_back(event);
                               });
    ASSERT_TRUE(tls.ok()) << tls.error().message;
    tls_ = *std::move(tls);
    server_ = std::make_unique<Server>(echo_, limits, tls_.get());
    const auto bound = server_->Listen(*ListenAddress::Parse("https://127.0.0.1:0"));
    ASSERT_TRUE(bound.ok()) << bound.error().message;
    address_ = *bound;
  }
  void StartMutual() {
    const std::string path = folder_.path() + "/clients.pem";
    tls::WriteSecret(path, clients_.certificate());
    Start(path);
  }
  std::vector<std::string> events() {
    const std::lock_guard lock(mutex_);
    return events_;
  }

  TempFolder folder_;
  tls::TestAuthority authority_;
  tls::TestAuthority clients_{"clients' CA"};
  tls::IssuedFiles files_;
  EchoHandler echo_;
  std::mutex mutex_;  // Guards the events.
  std::vector<std::string> events_;
  std::unique_ptr<TlsServer> tls_;
  std::unique_ptr<Server> server_;
  ListenAddress address_;
};

TEST_F(TlsServerTest, Requests_AreAnswered_AndTheEndIsSaid) {
  Start();
  EXPECT_THAT(address_.ToString(), StartsWith("https://127.0.0.1:"));
  TlsPeer peer(address_);
  ASSERT_EQ(peer.error(), "");
  peer.Send(Post("/who", ""));
  EXPECT_THAT(peer.ReadUntil("."), AllOf(StartsWith("HTTP/1.1 200 "), EndsWith("tls.")));
  peer.Send(Post("/", "again", "Connection: close\r\n"));
  EXPECT_THAT(peer.ReadAll(), EndsWith("again"));
  EXPECT_EQ(peer.error(), "the end");  // And not cut off.
}

TEST_F(TlsServerTest, LargeBodies_ComeAndGoWhole) {
  Start();
  std::string body(5'000'000, '\0');
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>(i * 7919 >> 8);
  TlsPeer peer(address_);
  peer.Send(Post("/", body));
  const std::string end = body.substr(body.size() - 1000);
  EXPECT_EQ(BodyOf(peer.ReadUntil(end)), body);
  // More than a connection may read in one turn, while another one waits for its own.
  std::thread sends([&] { peer.Send(Post("/stream", body)); });
  TlsPeer other(address_);
  other.Send(Post("/", "other"));
  EXPECT_THAT(other.ReadUntil("other"), StartsWith("HTTP/1.1 200 "));
  sends.join();
  EXPECT_THAT(peer.ReadUntil("\r\n0\r\n\r\n"), HasSubstr("Transfer-Encoding: chunked"));
  peer.Send(Post("/large", "", "Connection: close\r\n"));
  EXPECT_EQ(BodyOf(peer.ReadAll()).size(), EchoHandler::kLargeBytes);
  EXPECT_EQ(peer.error(), "the end");
}

TEST_F(TlsServerTest, PeerThatEndsSending_IsStillAnswered) {
  Start();
  TlsPeer peer(address_);
  peer.Send(Post("/", "before the end"));
  peer.EndSending();
  EXPECT_THAT(peer.ReadAll(), EndsWith("before the end"));
}

TEST_F(TlsServerTest, RefusedWhileSending_ReadsTheRefusal) {
  ServerLimits limits;
  limits.max_body_bytes = 16;
  limits.linger_timeout = 60s;
  Start("", limits);
  TlsPeer peer(address_);
  peer.Send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000000\r\n\r\n");
  for (int i = 0; i < 40; ++i) {
    peer.Send(std::string(100000, 'x'));
    ASSERT_EQ(peer.error(), "");
  }
  EXPECT_THAT(peer.ReadAll(), StartsWith("HTTP/1.1 413 "));
}

TEST_F(TlsServerTest, SlowHandshake_IsCutOff_OthersAreServed) {
  ServerLimits limits;
  limits.header_timeout = 1s;  // A machine that is busy delays the other client by less.
  limits.linger_timeout = 10ms;
  Start("", limits);
  TestPeer silent(address_);
  TestPeer slow(address_);
  slow.Send(std::string_view("\x16\x03\x01\x02", 4));
  TlsPeer other(address_);
  other.Send(Post("/", "other"));
  EXPECT_THAT(other.ReadUntil("other"), StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(silent.ReadAll(), "");
  EXPECT_EQ(slow.ReadAll(), "");
  WaitUntil("they are gone", [this] { return server_->connections() == 1; });
}

TEST_F(TlsServerTest, HttpInClear_IsToldWhatIsSpokenHere) {
  Start();
  for (const std::string& request :
       {std::string("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), Post("/", std::string(9999, 'x')),
        std::string("PUT /cas/x HTTP/1.1\r\n\r\n")}) {
    TestPeer peer(address_);
    peer.Send(request);
    peer.EndSending();
    const std::string answer = peer.ReadAll();
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 400 "));
    const auto error = wire::DecodeErrorReply(BodyOf(answer));
    ASSERT_TRUE(error.ok());
    EXPECT_EQ(error->message, "This port speaks TLS: its URL begins with https://.");
  }
}

TEST_F(TlsServerTest, OlderProtocol_IsRefused) {
  Start();
  TlsPeer peer(address_, {.max_version = TLS1_2_VERSION});
  EXPECT_THAT(peer.error(), HasSubstr("protocol version"));
  WaitUntil("it is said", [this] { return !events().empty(); });
  EXPECT_THAT(events(), Contains(HasSubstr("unsupported protocol")));
}

TEST_F(TlsServerTest, Session_IsResumed_UntilTheCertificateIsAnother) {
  Start();
  const auto session_of = [&](TlsPeer& peer) {
    peer.Send(Post("/", "x"));
    peer.ReadUntil("x");  // Tickets come before it.
    return peer.TakeSession();
  };
  TlsPeer first(address_);
  EXPECT_FALSE(first.resumed());
  const TlsPeer::Session session = session_of(first);
  ASSERT_NE(session, nullptr);
  TlsPeer second(address_, {.resumes = session.get()});
  EXPECT_TRUE(second.resumed());
  const TlsPeer::Session next = session_of(second);
  authority_.IssueIn(folder_.path(), "daemon", {.name = "second"});
  ASSERT_TRUE(tls_->Reload().ok());
  TlsPeer third(address_, {.resumes = next.get()});
  EXPECT_EQ(third.error(), "");
  EXPECT_FALSE(third.resumed());
}

TEST_F(TlsServerTest, Reload_ShowsTheNewCertificate_KeepsConnections) {
  Start();
  TlsPeer before(address_);
  EXPECT_EQ(before.ServerName(), "first");
  EXPECT_FALSE(*tls_->Reload());
  authority_.IssueIn(folder_.path(), "daemon", {.name = "second"});
  EXPECT_TRUE(*tls_->Reload());
  EXPECT_THAT(tls_->Describe(), StartsWith("'second' until 20"));
  EXPECT_EQ(TlsPeer(address_).ServerName(), "second");
  before.Send(Post("/", "goes on"));
  EXPECT_THAT(before.ReadUntil("goes on"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(TlsServerTest, Reload_OfWhatDoesNotFit_KeepsTheOldOne_AndSaysSoOnce) {
  Start();
  const tls::Issued next = authority_.Issue({.name = "second"});
  tls::WriteSecret(files_.certificate, next.certificate);
  // Files that are replaced one after the other do not fit for a moment: nothing is said.
  const auto unsettled = tls_->ReloadSettled();
  ASSERT_TRUE(unsettled.ok());
  EXPECT_FALSE(*unsettled);
  const auto settled = tls_->ReloadSettled();
  ASSERT_FALSE(settled.ok());
  EXPECT_THAT(settled.error().message, HasSubstr("is not that of the first certificate"));
  EXPECT_TRUE(tls_->ReloadSettled().ok());
  EXPECT_EQ(TlsPeer(address_).ServerName(), "first");
  tls::WriteSecret(files_.key, next.key);
  EXPECT_FALSE(*tls_->ReloadSettled());
  EXPECT_TRUE(*tls_->ReloadSettled());
  EXPECT_EQ(TlsPeer(address_).ServerName(), "second");
}

TEST_F(TlsServerTest, ClientCa_AsksForACertificate_ThatSaysWhoAsks) {
  StartMutual();
  const tls::IssuedFiles client = clients_.IssueIn(
      folder_.path(), "client",
      {.name = "trainer", .alternatives = "DNS:t.example,URI:spiffe://a/t,IP:10.0.0.1"});
  TlsPeer peer(address_, {.shows = &client});
  ASSERT_EQ(peer.error(), "");
  peer.Send(Post("/who", ""));
  EXPECT_THAT(peer.ReadUntil("/t."), EndsWith("\r\ntls trainer t.example spiffe://a/t."));
  const TlsPeer::Session session = peer.TakeSession();
  TlsPeer again(address_, {.shows = &client, .resumes = session.get()});
  EXPECT_TRUE(again.resumed());
  again.Send(Post("/who", ""));
  EXPECT_THAT(again.ReadUntil("/t."), EndsWith("\r\ntls trainer t.example spiffe://a/t."));
}

TEST_F(TlsServerTest, ClientCa_WhoShowsNoneOrAnothers_LearnsWhy) {
  StartMutual();
  const tls::TestAuthority stranger("another CA");
  const tls::IssuedFiles foreign = stranger.IssueIn(folder_.path(), "foreign");
  const tls::IssuedFiles old =
      clients_.IssueIn(folder_.path(), "old", {.begins_s = -7200, .ends_s = -3600});
  const std::tuple<const tls::IssuedFiles*, std::string, std::string> rows[] = {
      {nullptr, "certificate required", "peer did not return a certificate"},
      {&foreign, "unknown ca", "unable to get local issuer certificate"},
      {&old, "certificate expired", "certificate has expired"}};
  for (const auto& [files, said, logged] : rows) {
    TlsPeer peer(address_, {.shows = files});
    // The client has done its part of the handshake before it is refused.
    peer.Send(Post("/who", std::string(100'000, 'x')));
    EXPECT_EQ(peer.ReadAll(), "");
    EXPECT_THAT(peer.error(), HasSubstr(said));
    const auto& text = logged;
    WaitUntil("it is said", [&] {
      for (const std::string& event : events()) {
        if (event.find(text) != std::string::npos) return true;
      }
      return false;
    });
  }
}

TEST_F(TlsServerTest, CertificateWithoutNames_IsNamedByItsDigest) {
  StartMutual();
  // A name with a line break in it does not get into logs.
  const tls::IssuedFiles client = clients_.IssueIn(
      folder_.path(), "client", {.name = "two\nlines", .alternatives = "IP:10.0.0.1"});
  TlsPeer peer(address_, {.shows = &client});
  peer.Send(Post("/who", ""));
  EXPECT_THAT(peer.ReadUntil("."), testing::ContainsRegex("tls sha256:[0-9a-f]{64}"));
}

TEST_F(TlsServerTest, Listen_WithoutACertificate_IsRefused) {
  Server server(echo_, ServerLimits{});
  const auto bound = server.Listen(*ListenAddress::Parse("https://127.0.0.1:0"));
  ASSERT_FALSE(bound.ok());
  EXPECT_THAT(bound.error().message, HasSubstr("needs a certificate"));
}

TEST_F(TlsServerTest, ManyConnections_AtOnce_ComeAndGo) {
  Start();
  std::vector<std::thread> threads;
  std::atomic<int> answered{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        TlsPeer peer(address_);
        peer.Send(Post("/large", ""));
        // Leaves in the middle of every other answer.
        if (i % 2 == 0) {
          peer.Send(Post("/", "end"));
          if (peer.ReadUntil("end").size() > EchoHandler::kLargeBytes) ++answered;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(answered, 40);
  WaitUntil("all are gone", [this] { return server_->connections() == 0; });
}

}  // namespace
}  // namespace stoker::net
