// Against a peer that answers with canned bytes over a Unix socket.
#include "client/core/http_connection.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "tests/unit/client/core/canned_peer.h"

namespace stoker {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 60s;  // Never used up.

TEST(HttpConnection, Call_ContentLength_BodyIsWhole) {
  CannedPeer peer("HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\nhello", true);
  auto connection = HttpConnection::Connect(peer.url(), kPatience);
  ASSERT_TRUE(connection.ok()) << connection.error().message;
  const auto response = (*connection)->Call("GET", "/x", "", kPatience);
  ASSERT_TRUE(response.ok()) << response.error().message;
  EXPECT_EQ(response->status, 404);
  EXPECT_EQ(response->body, "hello");
  EXPECT_TRUE((*connection)->usable());
}

TEST(HttpConnection, Stream_Chunks_AreHandedOn) {
  CannedPeer peer(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n",
      true);
  auto connection = HttpConnection::Connect(peer.url(), kPatience);
  ASSERT_TRUE(connection.ok());
  std::string received;
  const auto response =
      (*connection)->Stream("POST", "/x", "body", kPatience, [&](std::string_view data) -> Status {
        received += data;
        return Ok();
      });
  ASSERT_TRUE(response.ok()) << response.error().message;
  EXPECT_EQ(received, "abcdefg");
}

TEST(HttpConnection, Download_CutInTheMiddle_KeepsWhatCame) {
  CannedPeer peer("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabcd", false);
  auto connection = HttpConnection::Connect(peer.url(), kPatience);
  ASSERT_TRUE(connection.ok());
  std::string bytes;
  EXPECT_FALSE((*connection)->Download("/x", kPatience, bytes).ok());
  EXPECT_EQ(bytes, "abcd");
  EXPECT_EQ(peer.Received().find("Range:"), std::string::npos);
}

TEST(HttpConnection, Download_OfTheRest_IsAppended) {
  CannedPeer peer(
      "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 4-8/9\r\nContent-Length: 5\r\n\r\n"
      "efghi",
      false);
  auto connection = HttpConnection::Connect(peer.url(), kPatience);
  ASSERT_TRUE(connection.ok());
  std::string bytes = "abcd";
  ASSERT_TRUE((*connection)->Download("/x", kPatience, bytes).ok());
  EXPECT_EQ(bytes, "abcdefghi");
  EXPECT_NE(peer.Received().find("Range: bytes=4-\r\n"), std::string::npos);
}

TEST(HttpConnection, Download_FromWhoKnowsNoRanges_BeginsAnew) {
  CannedPeer peer("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabcdefghi", false);
  auto connection = HttpConnection::Connect(peer.url(), kPatience);
  ASSERT_TRUE(connection.ok());
  std::string bytes = "abcd";
  ASSERT_TRUE((*connection)->Download("/x", kPatience, bytes).ok());
  EXPECT_EQ(bytes, "abcdefghi");
}

TEST(HttpConnection, Download_Refused_ChangesNothing) {
  CannedPeer peer("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone", false);
  auto connection = HttpConnection::Connect(peer.url(), kPatience);
  ASSERT_TRUE(connection.ok());
  std::string bytes = "abcd";
  const auto response = (*connection)->Download("/x", kPatience, bytes);
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(response->status, 404);
  EXPECT_EQ(response->body, "gone");
  EXPECT_EQ(bytes, "abcd");
}

TEST(HttpConnection, Call_PeerClosesInTheMiddle_IsUnavailable) {
  CannedPeer peer("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npartial", false);
  auto connection = HttpConnection::Connect(peer.url(), kPatience);
  ASSERT_TRUE(connection.ok());
  const auto response = (*connection)->Call("GET", "/x", "", kPatience);
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE((*connection)->usable());
}

TEST(HttpConnection, Call_SilentPeer_IsDeadlineExceeded) {
  CannedPeer peer("", true);
  auto connection = HttpConnection::Connect(peer.url(), kPatience);
  ASSERT_TRUE(connection.ok());
  const auto response = (*connection)->Call("GET", "/x", "", 50ms);
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code, ErrorCode::kDeadlineExceeded);
  connection->reset();
}

TEST(HttpConnection, Connect_NobodyThere_IsUnavailable) {
  const auto connection =
      HttpConnection::Connect(*DaemonUrl::Parse("unix:/nonexistent/stokerd.sock"), 1s);
  ASSERT_FALSE(connection.ok());
  EXPECT_EQ(connection.error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace stoker
