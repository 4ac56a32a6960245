#include "client/core/trust/daemon_trust.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "protocol/base/host/file_descriptor.h"
#include "tests/unit/temp_folder.h"

namespace stoker {
namespace {

using testing::HasSubstr;

class DaemonTrustTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name :
         {"STOKER_DAEMON_USER", "STOKER_TOKEN", "STOKER_TOKEN_FILE", "STOKER_SIGNERS"}) {
      unsetenv(name);
    }
  }
  void TearDown() override { SetUp(); }
};

TEST_F(DaemonTrustTest, Environment_NothingSet_TrustsNobodyElse) {
  const auto trust = DaemonTrustOfEnvironment();
  ASSERT_TRUE(trust.ok());
  EXPECT_FALSE(trust->daemon_uid);
  EXPECT_EQ(trust->token, "");
}

TEST_F(DaemonTrustTest, DaemonUser_IsANumberOrAName) {
  setenv("STOKER_DAEMON_USER", "8471", 1);
  EXPECT_EQ(DaemonTrustOfEnvironment()->daemon_uid, 8471U);
  setenv("STOKER_DAEMON_USER", "root", 1);
  EXPECT_EQ(DaemonTrustOfEnvironment()->daemon_uid, 0U);
  setenv("STOKER_DAEMON_USER", "no such user", 1);
  EXPECT_THAT(DaemonTrustOfEnvironment().error().message, HasSubstr("'no such user'"));
}

TEST_F(DaemonTrustTest, Token_ComesFromTheVariableOrTheFirstLineOfAFile) {
  TempFolder folder;
  setenv("STOKER_TOKEN_FILE", folder.Write("token", "from-the-file\nrest\n").c_str(), 1);
  EXPECT_EQ(DaemonTrustOfEnvironment()->token, "from-the-file");
  setenv("STOKER_TOKEN", "from-the-variable", 1);
  EXPECT_EQ(DaemonTrustOfEnvironment()->token, "from-the-variable");
  setenv("STOKER_TOKEN", "two words", 1);
  const auto wrong = DaemonTrustOfEnvironment();
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.error().message, HasSubstr("STOKER_TOKEN holds no token"));
  EXPECT_THAT(wrong.error().message, testing::Not(HasSubstr("two words")));
  unsetenv("STOKER_TOKEN");
  const std::string pipe = folder.path() + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::pair<std::string, std::string> rows[] = {
      {"/nowhere", "'/nowhere' cannot be read"},
      {pipe, "is no regular file"},
      {"/dev/zero", "is no regular file"},
      {folder.Write("empty", "\n"), "whose first line is empty"},
      {folder.Write("large", std::string(65537, 'a')), "has 65537 bytes; the limit is 65536."}};
  for (const auto& [path, said] : rows) {
    setenv("STOKER_TOKEN_FILE", path.c_str(), 1);
    EXPECT_THAT(DaemonTrustOfEnvironment().error().message,
                testing::AllOf(testing::StartsWith("STOKER_TOKEN_FILE"), HasSubstr(said)));
  }
}

// Of a datagram socket: connecting one sends nothing.
Status TokenTo(const char* address) {
  const FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM, 0));
  sockaddr_in peer{};
  peer.sin_family = AF_INET;
  peer.sin_port = htons(9);
  inet_pton(AF_INET, address, &peer.sin_addr);
  EXPECT_EQ(connect(socket.get(), reinterpret_cast<const sockaddr*>(&peer), sizeof peer), 0);
  return CheckTokenStaysHere(socket.get(), "http://127.0.0.1.example:1");
}

TEST_F(DaemonTrustTest, Token_StaysOnThisHost_WhateverTheNameSays) {
  EXPECT_TRUE(TokenTo("127.0.0.1").ok());
  EXPECT_TRUE(TokenTo("127.9.9.9").ok());
  const FileDescriptor unconnected(socket(AF_INET, SOCK_DGRAM, 0));
  const Status elsewhere = CheckTokenStaysHere(unconnected.get(), "http://127.0.0.1.example:1");
  ASSERT_FALSE(elsewhere.ok());
  EXPECT_THAT(elsewhere.error().message, HasSubstr("127.0.0.1.example"));
  const FileDescriptor mapped(socket(AF_INET6, SOCK_DGRAM, 0));
  sockaddr_in6 peer{};
  peer.sin6_family = AF_INET6;
  peer.sin6_port = htons(9);
  inet_pton(AF_INET6, "::ffff:127.0.0.1", &peer.sin6_addr);
  if (connect(mapped.get(), reinterpret_cast<const sockaddr*>(&peer), sizeof peer) == 0) {
    EXPECT_TRUE(CheckTokenStaysHere(mapped.get(), "u").ok());
  }
  // An address of this host's own that is not loopback is another host's to whoever listens there.
  sockaddr_in other{};
  other.sin_family = AF_INET;
  other.sin_port = htons(9);
  inet_pton(AF_INET, "192.0.2.2", &other.sin_addr);
  if (connect(unconnected.get(), reinterpret_cast<const sockaddr*>(&other), sizeof other) == 0) {
    EXPECT_FALSE(CheckTokenStaysHere(unconnected.get(), "u").ok());
  }
}

TEST_F(DaemonTrustTest, SocketServer_IsThisUser) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const FileDescriptor first(ends[0]);
  const FileDescriptor second(ends[1]);
  EXPECT_TRUE(CheckSocketServer(first.get(), "/s", {}).ok());
  EXPECT_FALSE(CheckSocketServer(-1, "/s", {}).ok());
}

TEST_F(DaemonTrustTest, SocketServer_IsAnotherUser_OnlyIfItIsNamed) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be two users";
  int ends[2];
  ASSERT_EQ(seteuid(65534), 0);
  const int made = socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
  ASSERT_EQ(seteuid(0), 0);
  ASSERT_EQ(seteuid(1000), 0);
  const Status foreign = CheckSocketServer(ends[0], "/s", {});
  const Status named =
      CheckSocketServer(ends[0], "/s", {.daemon_uid = 65534, .token = "", .signers = {}});
  ASSERT_EQ(seteuid(0), 0);
  ASSERT_EQ(made, 0);
  const FileDescriptor first(ends[0]);
  const FileDescriptor second(ends[1]);
  ASSERT_FALSE(foreign.ok());
  EXPECT_THAT(foreign.error().message, HasSubstr("served by user 65534"));
  EXPECT_THAT(foreign.error().message, HasSubstr("STOKER_DAEMON_USER"));
  EXPECT_TRUE(named.ok());
}

class BelievedSignersTest : public testing::Test {
 protected:
  static constexpr const char* kUrl = "http://daemon:1";
  const PublicKey one_ = SigningKey::Make()->public_key();
  const PublicKey two_ = SigningKey::Make()->public_key();
  const std::vector<PublicKey> announced_ = {one_, two_};
};

TEST_F(BelievedSignersTest, NothingPinned_WhatAnAuthenticatedDaemonAnnounces) {
  EXPECT_EQ(*BelievedSigners({}, announced_, /*is_authenticated=*/true, kUrl), announced_);
  const auto unknown = BelievedSigners({}, announced_, /*is_authenticated=*/false, kUrl);
  EXPECT_EQ(unknown.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(unknown.error().message, HasSubstr("Nothing proves who serves http://daemon:1"));
  EXPECT_THAT(unknown.error().message, HasSubstr("set STOKER_SIGNERS"));
  EXPECT_THAT(unknown.error().message, HasSubstr(one_.ToString()));
  EXPECT_FALSE(BelievedSigners({}, {}, /*is_authenticated=*/true, kUrl).ok());
}

TEST_F(BelievedSignersTest, Pinned_ThoseAndNoOthers_WhoeverServes) {
  DaemonTrust trust;
  trust.signers = {two_};
  for (const bool is_authenticated : {false, true}) {
    EXPECT_THAT(*BelievedSigners(trust, announced_, is_authenticated, kUrl),
                testing::ElementsAre(two_));
    const std::vector<PublicKey> other = {one_};
    const auto mismatch = BelievedSigners(trust, other, is_authenticated, kUrl);
    EXPECT_EQ(mismatch.error().code, ErrorCode::kFailedPrecondition);
    EXPECT_THAT(mismatch.error().message, HasSubstr("signs with " + one_.ToString()));
    EXPECT_THAT(mismatch.error().message, HasSubstr("STOKER_SIGNERS trusts " + two_.ToString()));
  }
}

}  // namespace
}  // namespace stoker
