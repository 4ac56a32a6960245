// Against a peer that answers with canned bytes over a Unix socket.
#include "client/core/connection/http_connection.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "tests/unit/client/core/canned_peer.h"
#include "tests/unit/wait_until.h"

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
      (*connection)
          ->Stream("POST", "/x", "body", kPatience, [&](std::string_view data) -> Result<bool> {
            received += data;
            return false;
          });
  ASSERT_TRUE(response.ok()) << response.error().message;
  EXPECT_EQ(received, "abcdefg");
}

// `content`: what is there already of "abcdefghi".
Result<HttpResponse> DownloadFrom(CannedPeer& peer, PartialContent& content) {
  auto connection = HttpConnection::Connect(peer.url(), kPatience);
  EXPECT_TRUE(connection.ok());
  auto response = (*connection)->Download("/x", kPatience, content);
  EXPECT_TRUE(response.ok() || !(*connection)->usable());
  return response;
}

TEST(HttpConnection, Download_CutInTheMiddle_KeepsWhatCame) {
  CannedPeer peer("HTTP/1.1 200 OK\r\nETag: \"x\"\r\nContent-Length: 9\r\n\r\nabcd", false);
  PartialContent content;
  EXPECT_FALSE(DownloadFrom(peer, content).ok());
  EXPECT_EQ(content.bytes, "abcd");
  EXPECT_EQ(content.size, 9u);
  EXPECT_EQ(content.etag, "\"x\"");
  EXPECT_EQ(peer.Received().find("Range:"), std::string::npos);
}

TEST(HttpConnection, Download_OfTheRest_IsAppended) {
  CannedPeer peer(
      "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 4-8/9\r\nContent-Length: 5\r\n\r\n"
      "efghi",
      false);
  PartialContent content{.bytes = "abcd"};
  ASSERT_TRUE(DownloadFrom(peer, content).ok());
  EXPECT_EQ(content.bytes, "abcdefghi");
  EXPECT_TRUE(content.is_whole());
  EXPECT_NE(peer.Received().find("Range: bytes=4-\r\n"), std::string::npos);
}

TEST(HttpConnection, Download_OfAPart_IsNotWhole) {
  CannedPeer peer(
      "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 4-5/9\r\nContent-Length: 2\r\n\r\nef",
      false);
  PartialContent content{.bytes = "abcd"};
  ASSERT_TRUE(DownloadFrom(peer, content).ok());
  EXPECT_EQ(content.bytes, "abcdef");
  EXPECT_FALSE(content.is_whole());
}

TEST(HttpConnection, Download_OfAnotherRange_IsRefusedAndBeginsAnew) {
  CannedPeer peer(
      "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-4/9\r\nContent-Length: "
      "5\r\n\r\nabcde",
      false);
  PartialContent content{.bytes = "abcd"};
  const auto response = DownloadFrom(peer, content);
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(
      response.error().message.find("Content-Range 'bytes 0-4/9' is not the rest from byte 4"),
      std::string::npos)
      << response.error().message;
  EXPECT_EQ(content.bytes, "");
}

TEST(HttpConnection, Download_MoreThanTheRange_IsRefused) {
  CannedPeer peer(
      "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 4-8/9\r\nContent-Length: 9\r\n\r\n"
      "efghijklm",
      false);
  PartialContent content{.bytes = "abcd"};
  const auto response = DownloadFrom(peer, content);
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code, ErrorCode::kResourceExhausted);
  EXPECT_LE(content.bytes.size(), 9u);
}

TEST(HttpConnection, Download_FromWhoKnowsNoRanges_BeginsAnew) {
  CannedPeer peer("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabcdefghi", false);
  PartialContent content{.bytes = "abcd"};
  ASSERT_TRUE(DownloadFrom(peer, content).ok());
  EXPECT_EQ(content.bytes, "abcdefghi");
  EXPECT_TRUE(content.is_whole());
}

TEST(HttpConnection, Download_WithoutALength_IsWholeAtItsEnd) {
  CannedPeer peer("HTTP/1.1 200 OK\r\n\r\nabcdefghi", false);
  PartialContent content;
  ASSERT_TRUE(DownloadFrom(peer, content).ok());
  EXPECT_TRUE(content.is_whole());
}

TEST(HttpConnection, Download_Refused_ChangesNothing) {
  CannedPeer peer("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone", false);
  PartialContent content{.bytes = "abcd"};
  const auto response = DownloadFrom(peer, content);
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(response->status, 404);
  EXPECT_EQ(response->body, "gone");
  EXPECT_EQ(content.bytes, "abcd");
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

constexpr std::string_view kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

// What a call says of `peer` that is not quick enough for a patience of 1 s: what comes at all
// comes within that, however busy the machine is.
std::string TooSlowFor(CannedPeer& peer) {
  auto connection = HttpConnection::Connect(peer.url(), kPatience);
  EXPECT_TRUE(connection.ok());
  const auto response = (*connection)->Call("GET", "/x", "", 1000ms);
  EXPECT_FALSE(response.ok());
  EXPECT_EQ(response.error().code, ErrorCode::kDeadlineExceeded) << response.error().message;
  EXPECT_FALSE((*connection)->usable());
  return response.error().message;
}

TEST(HttpConnection, Call_HeaderAloneOrTooLittleOfTheBody_IsDeadlineExceededAndSaysWhich) {
  struct Case {
    std::string answer;
    std::string drip;
    std::string said;
  };
  const Case cases[] = {
      {"", "H", "is not answered within 1000 ms."},
      {"HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\n", "",
       "is answered by a header and nothing of its body within 1000 ms."},
      {"HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\nabc", "",
       "is answered by fewer than 65536 more bytes within 1000 ms."},
      {"HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\n", "a",
       "is answered by fewer than 65536 more bytes"},
      {"HTTP/1.1 200 OK\r\n\r\n", "a", "is answered by fewer than 65536 more bytes"},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\na\r\n",
       "is answered by fewer than 65536 more bytes"},
  };
  for (const Case& each : cases) {
    CannedPeer peer(each.answer, true, each.drip);
    EXPECT_NE(TooSlowFor(peer).find(each.said), std::string::npos) << each.answer << each.drip;
  }
}

// Bytes that frame a body are none of it.
TEST(HttpConnection, Call_ChunksThatAreAllExtension_AreNotWaitedFor) {
  const std::string chunk = "1;" + std::string(50000, 'x') + "\r\na\r\n";
  CannedPeer peer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", true, chunk);
  EXPECT_NE(TooSlowFor(peer).find("is answered by fewer than 65536 more bytes"), std::string::npos);
}

TEST(HttpConnection, Call_ExtensionWithoutAnEnd_IsUnavailable) {
  CannedPeer peer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", true,
                  std::string(50000, 'x'));
  auto connection = HttpConnection::Connect(peer.url(), kPatience);
  ASSERT_TRUE(connection.ok());
  const auto response = (*connection)->Call("GET", "/x", "", kPatience);
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code, ErrorCode::kUnavailable) << response.error().message;
  connection->reset();
}

TEST(HttpConnection, Stream_NewsIsWaitedForHoweverLittleItIs) {
  CannedPeer peer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", true, "1\r\na\r\n");
  auto connection = HttpConnection::Connect(peer.url(), kPatience);
  ASSERT_TRUE(connection.ok());
  const auto start = std::chrono::steady_clock::now();
  const auto response =
      (*connection)->Stream("GET", "/x", "", 1000ms, [&](std::string_view) -> Result<bool> {
        if (std::chrono::steady_clock::now() - start < 1500ms) return true;
        return DataLoss("Enough.");
      });
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code, ErrorCode::kDataLoss) << response.error().message;
  connection->reset();
}

TEST(HttpConnection, Call_RequestThatNobodyTakes_IsDeadlineExceeded) {
  // It reads on only when the client has left.
  CannedPeer peer("", true, "H");
  auto connection = HttpConnection::Connect(peer.url(), kPatience);
  ASSERT_TRUE(connection.ok());
  const std::string body(std::size_t{64} << 20, 'x');
  const auto response = (*connection)->Call("POST", "/x", body, 100ms);
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code, ErrorCode::kDeadlineExceeded);
  EXPECT_NE(response.error().message.find("sends fewer than 6553 more bytes within 100 ms."),
            std::string::npos)
      << response.error().message;
  connection->reset();
}

TEST(HttpConnection, Call_InterimAnswers_AreSkipped) {
  for (const std::string interim :
       {"HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"}) {
    CannedPeer peer(interim + interim + std::string(kOk), true);
    auto connection = HttpConnection::Connect(peer.url(), kPatience);
    ASSERT_TRUE(connection.ok());
    const auto response = (*connection)->Call("GET", "/x", "", kPatience);
    ASSERT_TRUE(response.ok()) << response.error().message;
    EXPECT_EQ(response->status, 200);
    EXPECT_EQ(response->body, "ok");
    EXPECT_TRUE((*connection)->usable());
    connection->reset();
  }
}

TEST(HttpConnection, Call_OtherProtocolOrInterimAnswersWithoutEnd_IsUnavailable) {
  const std::string interim = "HTTP/1.1 100 Continue\r\n\r\n";
  const std::string switching = "HTTP/1.1 101 Switching Protocols\r\n\r\n";
  for (const auto& [answer, drip] : {std::pair(switching, std::string()), {interim, interim}}) {
    CannedPeer peer(answer, true, drip);
    auto connection = HttpConnection::Connect(peer.url(), kPatience);
    ASSERT_TRUE(connection.ok());
    const auto response = (*connection)->Call("GET", "/x", "", kPatience);
    ASSERT_FALSE(response.ok());
    EXPECT_EQ(response.error().code, ErrorCode::kUnavailable) << response.error().message;
    EXPECT_FALSE((*connection)->usable());
    connection->reset();
  }
}

TEST(HttpConnection, Usable_MoreThanOneAnswerOrNoMore_IsFalse) {
  struct Case {
    std::string more;
    bool stays;
  };
  for (const Case& each : {Case{"abc", true}, Case{std::string(kOk), true}, Case{"", false}}) {
    CannedPeer peer(std::string(kOk) + each.more, each.stays);
    auto connection = HttpConnection::Connect(peer.url(), kPatience);
    ASSERT_TRUE(connection.ok());
    ASSERT_TRUE((*connection)->Call("GET", "/x", "", kPatience).ok());
    WaitUntil("it is not usable", [&] { return !(*connection)->usable(); });
    connection->reset();
  }
}

TEST(HttpConnection, Usable_BytesThatNobodyAskedForComeLater_IsFalse) {
  CannedPeer peer(std::string(kOk), true, "HTTP/1.1 408 Request Timeout\r\n\r\n");
  auto connection = HttpConnection::Connect(peer.url(), kPatience);
  ASSERT_TRUE(connection.ok());
  ASSERT_TRUE((*connection)->Call("GET", "/x", "", kPatience).ok());
  WaitUntil("it is not usable", [&] { return !(*connection)->usable(); });
  connection->reset();
}

TEST(HttpConnection, Connect_NobodyListens_IsNotFound_NobodyAnswers_IsUnavailable) {
  const std::pair<const char*, ErrorCode> kCases[] = {
      {"unix:/nonexistent/stokerd.sock", ErrorCode::kNotFound},
      {"http://127.0.0.1:1", ErrorCode::kNotFound},
      {"https://127.0.0.1:1", ErrorCode::kNotFound},
      {"http://nowhere.invalid:8471", ErrorCode::kUnavailable}};
  for (const auto& [url, code] : kCases) {
    const auto connection = HttpConnection::Connect(*DaemonUrl::Parse(url), 1s);
    ASSERT_FALSE(connection.ok()) << url;
    EXPECT_EQ(connection.error().code, code) << url << ": " << connection.error().message;
  }
}

}  // namespace
}  // namespace stoker
