// A client's connections against a server of the daemon's, and against others.
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <thread>

#include "client/core/connection/http_connection.h"
#include "daemon/net/listener.h"
#include "daemon/net/stream/tls_server.h"
#include "tests/unit/daemon/net/echo_handler.h"
#include "tests/unit/protocol/tls/test_authority.h"
#include "tests/unit/temp_folder.h"

namespace stoker {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

constexpr auto kPatience = 60s;  // Never used up.

// The digest of the key in a PEM file of a certificate.
Digest PinOf(const std::string& path) {
  const auto certificates = tls::CertificatesIn("File", path);
  unsigned char* der = nullptr;
  const int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificates->front().get()), &der);
  const Digest pin = Sha256Of({reinterpret_cast<const char*>(der), static_cast<std::size_t>(size)});
  OPENSSL_free(der);
  return pin;
}

class TlsTransportTest : public testing::Test {
 protected:
  TlsTransportTest() : ca_(folder_.path() + "/ca.pem") {
    tls::WriteSecret(ca_, authority_.certificate());
  }

  void Start(const tls::Wish& wish = {}, const std::string& client_ca = "",
             const std::string& address = "https://127.0.0.1:0") {
    server_.reset();
    files_ = authority_.IssueIn(folder_.path(), "daemon", wish);
    tls_ = net::TlsServer::Open({files_.certificate, files_.key, client_ca}, [](std::string_view) {
           }).value();
    server_ = std::make_unique<net::Server>(echo_, net::ServerLimits{}, tls_.get());
    port_ = server_->Listen(*net::ListenAddress::Parse(address)).value().port;
  }

  DaemonUrl Url(const std::string& host = "127.0.0.1", const std::string& scheme = "https") const {
    return *DaemonUrl::Parse(scheme + "://" + host + ":" + std::to_string(port_));
  }
  DaemonTrust Trust(const TlsTrust& tls) const {
    DaemonTrust trust;
    trust.tls = tls;
    return trust;
  }
  DaemonTrust TrustInCa() const { return Trust({.ca_file = ca_}); }
  // The error of the first call, wherever it comes.
  Error RefusalOf(const DaemonUrl& url, const DaemonTrust& trust) const {
    auto connection = HttpConnection::Connect(url, kPatience, trust);
    if (!connection.ok()) return connection.error();
    const auto response = (*connection)->Call("POST", "/", "secret", kPatience);
    return response.ok() ? Error{ErrorCode::kInternal, "It was not refused."} : response.error();
  }

  TempFolder folder_;
  const std::string ca_;
  tls::TestAuthority authority_;
  tls::IssuedFiles files_;
  net::EchoHandler echo_;
  std::unique_ptr<net::TlsServer> tls_;
  std::unique_ptr<net::Server> server_;
  std::uint16_t port_ = 0;
};

TEST_F(TlsTransportTest, Calls_OverOneConnection_BodiesWhole) {
  Start();
  auto connection = HttpConnection::Connect(Url(), kPatience, TrustInCa());
  ASSERT_TRUE(connection.ok()) << connection.error().message;
  const std::string body(3'000'000, 'b');
  for (int i = 0; i < 2; ++i) {
    const auto response = (*connection)->Call("POST", "/", body, kPatience);
    ASSERT_TRUE(response.ok()) << response.error().message;
    EXPECT_EQ(response->body, body);
    std::size_t received = 0;
    const auto streamed = (*connection)
                              ->Stream("POST", "/stream", body, kPatience,
                                       [&](std::string_view data) -> Result<bool> {
                                         received += data.size();
                                         return false;
                                       });
    ASSERT_TRUE(streamed.ok()) << streamed.error().message;
    EXPECT_EQ(received, body.size());
  }
  EXPECT_EQ((*connection)->Call("GET", "/large", "", kPatience)->body.size(),
            net::EchoHandler::kLargeBytes);
  EXPECT_TRUE((*connection)->usable());
}

TEST_F(TlsTransportTest, Host_IsOneThatTheCertificateNames) {
  Start({.alternatives = "DNS:localhost,IP:127.0.0.1"});
  EXPECT_TRUE(HttpConnection::Connect(Url("127.0.0.1"), kPatience, TrustInCa()).ok());
  EXPECT_TRUE(HttpConnection::Connect(Url("localhost"), kPatience, TrustInCa()).ok());
  Start({.name = "127.0.0.1", .alternatives = "DNS:cache.example,IP:10.1.2.3"});
  EXPECT_EQ(RefusalOf(Url(), TrustInCa()).message,
            "The certificate of " + Url().ToString() +
                " is for cache.example, 10.1.2.3, not for 127.0.0.1.");
  EXPECT_THAT(RefusalOf(Url("localhost"), TrustInCa()).message, HasSubstr("not for localhost."));
  Start({.name = "localhost", .alternatives = ""});  // A common name is no host's.
  EXPECT_THAT(RefusalOf(Url("localhost"), TrustInCa()).message, HasSubstr("is for no host"));
}

TEST_F(TlsTransportTest, WhoIsNotBelieved_IsRefusedWithTheReason) {
  const tls::TestAuthority stranger("another CA");
  const std::string strangers = folder_.path() + "/strangers.pem";
  tls::WriteSecret(strangers, stranger.certificate());
  Start();
  const auto wrong_ca = RefusalOf(Url(), Trust({.ca_file = strangers}));
  EXPECT_EQ(wrong_ca.code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(wrong_ca.message, "The certificate of " + Url().ToString() +
                                  " is signed by none of the CAs in '" + strangers +
                                  "' (STOKER_TLS_CA).");
  EXPECT_THAT(RefusalOf(Url(), Trust({})).message,
              HasSubstr("is signed by none of this system's CAs; STOKER_TLS_CA names"));
  EXPECT_THAT(RefusalOf(Url(), Trust({.ca_file = "/nonexistent"})).message,
              StartsWith("STOKER_TLS_CA file '/nonexistent' cannot be read"));
  Start({.begins_s = -7200, .ends_s = -3600});
  EXPECT_THAT(RefusalOf(Url(), TrustInCa()).message,
              testing::ContainsRegex("has expired: it was good until 20.*UTC[.]$"));
  Start({.begins_s = 3600, .ends_s = 7200});
  EXPECT_THAT(RefusalOf(Url(), TrustInCa()).message, HasSubstr("is not valid before 20"));
}

TEST_F(TlsTransportTest, Pin_StandsForTheCertificate_OrBesideTheCa) {
  Start({.alternatives = "DNS:elsewhere", .begins_s = -7200, .ends_s = -3600});
  const Digest pin = PinOf(files_.certificate);
  const Digest other = Sha256Of("another key");
  EXPECT_TRUE(HttpConnection::Connect(Url(), kPatience, Trust({.pins = {other, pin}})).ok());
  const auto refusal = RefusalOf(Url(), Trust({.pins = {other}}));
  EXPECT_EQ(refusal.code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(refusal.message, "The key of " + Url().ToString() + " is " + PinText(pin) +
                                 ", which STOKER_TLS_PIN does not name.");
  // With a CA, names and days count, too.
  EXPECT_THAT(RefusalOf(Url(), Trust({.ca_file = ca_, .pins = {pin}})).message,
              HasSubstr("is for elsewhere"));
  Start();
  EXPECT_TRUE(HttpConnection::Connect(Url(), kPatience,
                                      Trust({.ca_file = ca_, .pins = {PinOf(files_.certificate)}}))
                  .ok());
  EXPECT_THAT(RefusalOf(Url(), Trust({.ca_file = ca_, .pins = {other}})).message,
              HasSubstr("which STOKER_TLS_PIN does not name"));
}

TEST_F(TlsTransportTest, ClientCertificate_IsShown_OrItsLackIsNamed) {
  const tls::TestAuthority clients("clients' CA");
  const std::string client_ca = folder_.path() + "/clients.pem";
  tls::WriteSecret(client_ca, clients.certificate());
  Start({}, client_ca);
  const tls::IssuedFiles own = clients.IssueIn(folder_.path(), "own", {.name = "trainer"});
  auto connection = HttpConnection::Connect(
      Url(), kPatience, Trust({.ca_file = ca_, .certificate = own.certificate, .key = own.key}));
  ASSERT_TRUE(connection.ok()) << connection.error().message;
  EXPECT_THAT((*connection)->Call("GET", "/who", "", kPatience)->body, StartsWith("tls trainer"));
  const Error none = RefusalOf(Url(), TrustInCa());
  EXPECT_EQ(none.code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(none.message, Url().ToString() +
                              " asks for a client's certificate: STOKER_TLS_CERTIFICATE and "
                              "STOKER_TLS_KEY name the files of one.");
  const tls::IssuedFiles foreign = authority_.IssueIn(folder_.path(), "foreign");
  EXPECT_THAT(
      RefusalOf(Url(),
                Trust({.ca_file = ca_, .certificate = foreign.certificate, .key = foreign.key}))
          .message,
      testing::MatchesRegex(".* refuses the certificate in STOKER_TLS_CERTIFICATE: "
                            ".*unknown ca[.]"));
  EXPECT_THAT(
      RefusalOf(Url(), Trust({.ca_file = ca_, .certificate = own.certificate, .key = foreign.key}))
          .message,
      HasSubstr("is not that of the first certificate"));
}

TEST_F(TlsTransportTest, HttpAtAnHttpsUrl_AndTheReverse_AreNamed) {
  Start({}, "", "http://127.0.0.1:0");
  EXPECT_EQ(RefusalOf(Url(), TrustInCa()).message,
            Url().ToString() + " does not speak TLS; is it http:// there?");
  Start();
  auto connection = HttpConnection::Connect(Url("127.0.0.1", "http"), kPatience);
  ASSERT_TRUE(connection.ok());
  const auto response = (*connection)->Call("GET", "/v1/hello", "", kPatience);
  ASSERT_TRUE(response.ok()) << response.error().message;
  EXPECT_EQ(response->status, 400);
  EXPECT_THAT(response->body, HasSubstr("its URL begins with https://"));
}

// Accepts one connection and does its part of a handshake of TLS 1.2, or nothing.
class OtherServer {
 public:
  OtherServer(const tls::IssuedFiles& files, bool speaks)
      : listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_, 1), 0);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, files, speaks] {
      const int fd = accept(listener_, nullptr, nullptr);
      const tls::Context context(SSL_CTX_new(TLS_server_method()));
      SSL_CTX_set_max_proto_version(context.get(), TLS1_2_VERSION);
      EXPECT_TRUE(tls::UseCertificate(context.get(), files.certificate, files.key).ok());
      const std::unique_ptr<SSL, FreedBy<SSL_free>> ssl(SSL_new(context.get()));
      SSL_set_fd(ssl.get(), fd);
      char byte = 0;
      if (speaks) SSL_accept(ssl.get());
      while (read(fd, &byte, 1) == 1) {
      }
      close(fd);
    });
  }
  ~OtherServer() {
    thread_.join();
    close(listener_);
  }
  std::uint16_t port() const { return port_; }

 private:
  const int listener_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

TEST_F(TlsTransportTest, OlderProtocol_IsRefused) {
  signal(SIGPIPE, SIG_IGN);  // OtherServer's.
  const OtherServer server(authority_.IssueIn(folder_.path(), "other"), true);
  port_ = server.port();
  const Error refusal = RefusalOf(Url(), TrustInCa());
  EXPECT_EQ(refusal.code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(refusal.message, HasSubstr("does not speak TLS 1.3"));
}

TEST_F(TlsTransportTest, SilentServer_IsGivenUp) {
  const OtherServer server(authority_.IssueIn(folder_.path(), "other"), false);
  port_ = server.port();
  const auto connection = HttpConnection::Connect(Url(), 50ms, TrustInCa());
  ASSERT_FALSE(connection.ok());
  EXPECT_EQ(connection.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(connection.error().message, HasSubstr("no TLS handshake within 50 ms"));
}

TEST_F(TlsTransportTest, ServerThatGoes_IsUnavailable_AndRaisesNoSignal) {
  signal(SIGPIPE, SIG_DFL);
  Start();
  auto connection = HttpConnection::Connect(Url(), kPatience, TrustInCa());
  ASSERT_TRUE(connection.ok());
  server_.reset();
  const auto response = (*connection)->Call("POST", "/", std::string(1'000'000, 'x'), kPatience);
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code, ErrorCode::kUnavailable) << response.error().message;
  EXPECT_FALSE((*connection)->usable());
}

// A child that says anything on its parent's connection, be it goodbye, breaks it.
TEST_F(TlsTransportTest, ForkedChild_LeavesTheConnectionAlone) {
  Start();
  auto connection = HttpConnection::Connect(Url(), kPatience, TrustInCa());
  ASSERT_TRUE(connection.ok());
  const pid_t child = fork();
  if (child == 0) {
    const bool usable = (*connection)->usable();
    connection->reset();
    _exit(usable ? 1 : 0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  const auto response = (*connection)->Call("POST", "/", "goes on", kPatience);
  ASSERT_TRUE(response.ok()) << response.error().message;
  EXPECT_EQ(response->body, "goes on");
}

}  // namespace
}  // namespace stoker
