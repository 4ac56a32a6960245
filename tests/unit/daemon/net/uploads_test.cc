// Requests whose connections break, and go on over others.
#include <gmock/gmock.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/net/listener.h"
#include "tests/unit/daemon/net/test_peer.h"
#include "tests/unit/temp_folder.h"
#include "tests/unit/wait_until.h"

namespace stoker::net {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string HashOf(const std::string& bytes) {
  return std::to_string(bytes.size()) + " bytes, " +
         std::to_string(std::hash<std::string>()(bytes));
}

// Says what it was asked, or sends the body in pieces.
class Teller : public HttpHandler {
 public:
  boost::asio::awaitable<std::optional<HttpReply>> Handle(HttpRequest request,
                                                          HttpStream& stream) override {
    handled.fetch_add(1);
    if (request.path == "/stream") {
      (void)co_await stream.Send(request.body);
      co_return std::nullopt;
    }
    HttpReply reply;
    if (request.path == "/hash") {
      reply.body = HashOf(request.body);
      co_return reply;
    }
    reply.status = request.path == "/missing" ? 404 : 200;
    reply.body = request.method + " " + request.path + "?" + request.query + " job=" + request.job +
                 " id=" + request.id + " " + request.body + ".";
    co_return reply;
  }
  Admission Admit(const HttpRequest& header) override {
    if (!refuses && header.authorization != "Bearer unknown") return {};
    HttpReply refusal;
    refusal.status = 403;
    return {.refusal = refusal};
  }
  bool IsUrgent(std::string_view /*path*/) const override { return false; }

  std::atomic<int> handled{0};
  std::atomic<bool> refuses{false};
};

constexpr std::string_view kUpload = "Upload-Complete: ?1\r\nUpload-Draft-Interop-Version: 8\r\n";

std::string Head(std::string_view method, std::string_view path, std::string_view fields = "") {
  return std::string(method) + " " + std::string(path) + " HTTP/1.1\r\nHost: h\r\n" +
         std::string(fields) + "\r\n";
}

std::string Length(std::size_t bytes) {
  return "Content-Length: " + std::to_string(bytes) + "\r\n";
}

// The value of a field in an answer.
std::string FieldOf(const std::string& answer, const std::string& name) {
  const std::size_t at = answer.find("\r\n" + name + ": ");
  if (at == std::string::npos) return "";
  const std::size_t begin = at + name.size() + 4;
  return answer.substr(begin, answer.find("\r\n", begin) - begin);
}

class UploadsTest : public testing::Test {
 protected:
  void Start(ServerLimits limits = {}) {
    server_ = std::make_unique<Server>(teller_, limits);
    ListenAddress address;
    address.path = path();
    ASSERT_TRUE(server_->Listen(address).ok());
  }
  std::string path() const { return folder_.path() + "/s"; }

  // A request of `size` bytes, of which `part` comes before its connection breaks. Where the rest
  // may be sent.
  std::string Break(std::string_view part, std::size_t size, std::string_view target = "/x",
                    const std::string& fields = "") {
    const std::size_t before = server_->kept_uploads().count;
    TestPeer peer(path());
    peer.Send(Head("POST", target, std::string(kUpload) + Length(size) + fields));
    const std::string offer = peer.ReadUntil("\r\n\r\n");
    EXPECT_THAT(offer, StartsWith("HTTP/1.1 104 Upload Resumption Supported\r\n"));
    peer.Send(part);
    peer.EndSending();
    WaitUntil("it is kept", [&] { return server_->kept_uploads().count > before; });
    return FieldOf(offer, "Location");
  }
  // Where `part` of a body of `size` bytes is brought now.
  static std::string Bring(TestPeer& peer, std::string_view part, std::size_t size) {
    peer.Send(Head("POST", "/x", std::string(kUpload) + Length(size)) + std::string(part));
    return FieldOf(peer.ReadUntil("\r\n\r\n"), "Location");
  }
  static std::string Patch(const std::string& location, std::size_t offset, std::string_view rest,
                           const std::string& fields = "") {
    return Head("PATCH", location,
                "Content-Type: application/partial-upload\r\nUpload-Complete: ?1\r\n"
                "Upload-Offset: " +
                    std::to_string(offset) + "\r\n" + Length(rest.size()) + fields) +
           std::string(rest);
  }
  // Asks, over a connection of its own that ends then.
  std::string Ask(const std::string& request) {
    TestPeer peer(path());
    peer.Send(request);
    peer.EndSending();
    return peer.ReadAll();
  }

  TempFolder folder_;
  Teller teller_;
  std::unique_ptr<Server> server_;
};

TEST_F(UploadsTest, RequestThatBreaks_GoesOnElsewhere_AndIsAnsweredAsItself) {
  Start();
  const std::string location = Break("abc", 10, "/x?q=1", "X-Stoker-Job: mine\r\n");
  EXPECT_THAT(location, testing::MatchesRegex("/uploads/[0-9a-f]{32}"));
  const std::string found = Ask(Head("HEAD", location));
  EXPECT_THAT(
      found, AllOf(StartsWith("HTTP/1.1 204 "), HasSubstr("\r\nUpload-Offset: 3\r\n"),
                   HasSubstr("\r\nUpload-Complete: ?0\r\n"), HasSubstr("\r\nUpload-Length: 10\r\n"),
                   HasSubstr("\r\nCache-Control: no-store\r\n"), EndsWith("\r\n\r\n")));
  const std::string answer = Ask(Patch(location, 3, "defghij", "X-Request-Id: rest\r\n"));
  EXPECT_THAT(answer, AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("Upload-Complete: ?1\r\n"),
                            HasSubstr("X-Request-Id: rest\r\n"),
                            EndsWith("POST /x?q=1 job=mine id=rest abcdefghij.")));
  EXPECT_THAT(Ask(Head("HEAD", location)), StartsWith("HTTP/1.1 404 "));
  EXPECT_EQ(teller_.handled, 1);
  EXPECT_EQ(server_->kept_uploads().bytes, 0U);
}

TEST_F(UploadsTest, RequestThatBreaksAgainAndAgain_LosesNothing) {
  Start();
  const std::string all = "abcdefghijklmnopqrstuvwxyz";
  const std::string location = Break("abc", all.size(), "/stream");
  for (std::size_t at = 3; at < 15; at += 4) {
    const std::string patch = Patch(location, at, all.substr(at));
    TestPeer(path()).Send(patch.substr(0, patch.size() - (all.size() - at - 4)));
    WaitUntil("it has four bytes more", [&] {
      return FieldOf(Ask(Head("HEAD", location)), "Upload-Offset") == std::to_string(at + 4);
    });
  }
  const std::string answer = Ask(Patch(location, 15, all.substr(15)));
  EXPECT_THAT(answer, AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("Upload-Complete: ?1\r\n"),
                            HasSubstr(all)));
}

TEST_F(UploadsTest, LongBody_ThatBreaksBetweenItsSteps_IsWhole) {
  Start();
  std::string all;
  while (all.size() < (std::size_t{3} << 20)) all += std::to_string(all.size());
  const std::size_t first = (std::size_t{1} << 20) + 1;
  const std::string location = Break(std::string_view(all).substr(0, first), all.size(), "/hash");
  EXPECT_EQ(FieldOf(Ask(Head("HEAD", location)), "Upload-Offset"), std::to_string(first));
  EXPECT_THAT(Ask(Patch(location, first, std::string_view(all).substr(first))),
              EndsWith(HashOf(all)));
}

TEST_F(UploadsTest, AnswerOfTheRequestItself_SaysSo) {
  Start();
  const std::string location = Break("a", 2, "/missing");
  EXPECT_THAT(Ask(Patch(location, 1, "b")),
              AllOf(StartsWith("HTTP/1.1 404 "), HasSubstr("Upload-Complete: ?1\r\n")));
  EXPECT_THAT(Ask(Patch(location, 1, "b")),
              AllOf(StartsWith("HTTP/1.1 404 "), Not(HasSubstr("Upload-Complete"))));
}

TEST_F(UploadsTest, WhoAsksForLeave_GetsBothAnswers) {
  Start();
  TestPeer peer(path());
  peer.Send(Head("PUT", "/x", std::string(kUpload) + Length(2) + "Expect: 100-continue\r\n"));
  EXPECT_THAT(peer.ReadUntil("\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 104 "), HasSubstr("Upload-Draft-Interop-Version: 8\r\n"),
                    HasSubstr("Upload-Limit: max-size=")));
  EXPECT_EQ(peer.ReadUntil("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  peer.Send("ab");
  EXPECT_THAT(peer.ReadUntil("ab."), StartsWith("HTTP/1.1 200 "));
}

TEST_F(UploadsTest, WhoDoesNotSpeakIt_SeesNothingOfIt) {
  ServerLimits limits;
  limits.max_body_bytes = 16;
  Start(limits);
  const std::string complete = "Upload-Complete: ?1\r\n";
  const std::string version = "Upload-Draft-Interop-Version: 8\r\n";
  const std::string both(kUpload);
  const std::string hello = "5\r\nhello\r\n0\r\n\r\n";
  for (const std::string& request :
       {Head("POST", "/x", Length(5)) + "hello", Head("POST", "/x", complete + Length(5)) + "hello",
        Head("POST", "/x", version + Length(5)) + "hello",
        Head("POST", "/x", version + "Upload-Complete: ?0\r\n" + Length(5)) + "hello",
        Head("POST", "/x", complete + "Upload-Draft-Interop-Version: 7\r\n" + Length(5)) + "hello",
        Head("POST", "/x", both + complete + Length(5)) + "hello",
        Head("POST", "/x", both + "Upload-Length: 6\r\n" + Length(5)) + "hello",
        Head("POST", "/x", both + "Transfer-Encoding: chunked\r\n") + hello,
        Head("GET", "/x", both), Head("GET", "/x", both + Length(5)) + "hello",
        "POST /x HTTP/1.0\r\n" + both + Length(5) + "\r\nhello"}) {
    EXPECT_THAT(Ask(request), AllOf(StartsWith("HTTP/1.1 200 "), Not(HasSubstr("Upload-"))))
        << request;
  }
  EXPECT_THAT(Ask(Head("POST", "/x", both + Length(17))), StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(Ask(Head("POST", "/x", both + Length(5) + "Authorization: Bearer unknown\r\n")),
              StartsWith("HTTP/1.1 403 "));
}

TEST_F(UploadsTest, AnotherCredential_FindsNothing) {
  Start();
  const auto bound = server_->Listen(*ListenAddress::Parse("http://127.0.0.1:0"));
  ASSERT_TRUE(bound.ok());
  const std::string own = "Authorization: Bearer own\r\n";
  const std::string location = Break("a", 2, "/x", own);
  for (const std::string& other : {std::string(), std::string("Authorization: Bearer other\r\n")}) {
    EXPECT_THAT(Ask(Head("HEAD", location, other)), StartsWith("HTTP/1.1 404 "));
    EXPECT_THAT(Ask(Patch(location, 1, "b", other)), StartsWith("HTTP/1.1 404 "));
    EXPECT_THAT(Ask(Head("DELETE", location, other)), StartsWith("HTTP/1.1 404 "));
  }
  // The same token, but by another road.
  TestPeer elsewhere(*bound);
  elsewhere.Send("HEAD " + location + " HTTP/1.1\r\nHost: localhost\r\n" + own + "\r\n");
  EXPECT_THAT(elsewhere.ReadUntil("\r\n\r\n"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(Ask(Patch(location, 1, "b", own)), EndsWith(" ab."));
  EXPECT_EQ(teller_.handled, 1);
}

TEST_F(UploadsTest, WhatIsNoRest_ChangesNothing) {
  Start();
  const std::string location = Break("abc", 10);
  const std::string type = "Content-Type: application/partial-upload\r\n";
  const std::string rest = "Upload-Complete: ?1\r\nUpload-Offset: 3\r\n";
  const struct {
    const char* what;
    std::string request;
    const char* status;
  } kRequests[] = {
      {"an offset before", Patch(location, 2, "cdefghij"), "409"},
      {"an offset behind", Patch(location, 4, "efghij"), "409"},
      {"too much", Patch(location, 3, "defghijk"), "400"},
      {"too little", Patch(location, 3, "defghi"), "400"},
      {"another length", Patch(location, 3, "defghij", "Upload-Length: 11\r\n"), "400"},
      {"no content", Patch(location, 3, ""), "400"},
      {"another type", Head("PATCH", location, rest + Length(7)) + "defghij", "415"},
      {"no offset",
       Head("PATCH", location, type + "Upload-Complete: ?1\r\n" + Length(7)) + "defghij", "400"},
      {"a part of the rest",
       Head("PATCH", location, type + "Upload-Complete: ?0\r\nUpload-Offset: 3\r\n" + Length(7)) +
           "defghij",
       "400"},
      {"in chunks", Head("PATCH", location, type + rest + "Transfer-Encoding: chunked\r\n"), "411"},
      {"another method", Head("POST", location, type + rest + Length(7)) + "defghij", "405"},
      {"another upload", Patch("/uploads/x", 3, "defghij"), "404"},
      {"a foreign page", Patch(location, 3, "defghij", "Origin: http://evil\r\n"), "403"},
  };
  for (const auto& [what, request, status] : kRequests) {
    const std::string answer = Ask(request);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 " + std::string(status))) << what;
    if (std::string_view(status) == "409") EXPECT_EQ(FieldOf(answer, "Upload-Offset"), "3") << what;
  }
  EXPECT_THAT(Ask(Patch(location, 3, "defghij")), EndsWith(" abcdefghij."));
}

TEST_F(UploadsTest, ConnectionThatNobodyKnowsIsDead_IsTakenOver) {
  Start();
  TestPeer dead(path());
  const std::string location = Bring(dead, "abc", 6);
  TestPeer peer(path());
  peer.Send(Head("HEAD", location));
  EXPECT_EQ(FieldOf(peer.ReadUntil("\r\n\r\n"), "Upload-Offset"), "3");
  EXPECT_EQ(dead.ReadAll(), "");
  // A rest that stops in the middle is taken over as well, without asking first.
  const std::string patch = Patch(location, 3, "def");
  peer.Send(patch.substr(0, patch.size() - 2));
  WaitUntil("it is taken over", [&] {
    const std::string answer = Ask(Patch(location, 4, "ef"));
    return answer.ends_with(" abcdef.");
  });
  EXPECT_EQ(peer.ReadAll(), "");
  EXPECT_EQ(teller_.handled, 1);
}

TEST_F(UploadsTest, Cancelled_IsGone_AndItsConnection) {
  Start();
  const std::string kept = Break("a", 2);
  EXPECT_THAT(Ask(Head("DELETE", kept)), StartsWith("HTTP/1.1 204 "));
  EXPECT_THAT(Ask(Head("DELETE", kept)), StartsWith("HTTP/1.1 404 "));
  TestPeer peer(path());
  const std::string brought = Bring(peer, "abc", 6);
  EXPECT_THAT(Ask(Head("DELETE", brought)), StartsWith("HTTP/1.1 204 "));
  EXPECT_EQ(peer.ReadAll(), "");
  EXPECT_THAT(Ask(Head("HEAD", brought)), StartsWith("HTTP/1.1 404 "));
  EXPECT_EQ(server_->kept_uploads().count, 0U);
}

TEST_F(UploadsTest, Cancelled_WhileItsRestComes_IsNotHandled) {
  Start();
  TestPeer peer(path());
  const std::string brought = Bring(peer, "abc", 6);
  EXPECT_THAT(Ask(Head("DELETE", brought)), StartsWith("HTTP/1.1 204 "));
  peer.Send("def");  // Before anybody looks for connections to close.
  EXPECT_EQ(peer.ReadAll(), "");
  EXPECT_EQ(teller_.handled, 0);
}

TEST_F(UploadsTest, Kept_ExpiresAndGivesItsRoomBack) {
  ServerLimits limits;
  limits.max_bodies_bytes = 20;
  limits.upload_timeout = 300ms;
  Start(limits);
  const std::string location = Break("abc", 16);
  EXPECT_EQ(server_->kept_uploads().bytes, 16U);
  EXPECT_THAT(Ask(Head("POST", "/2", Length(5)) + "hello"), StartsWith("HTTP/1.1 503 "));
  WaitUntil("it has expired", [&] { return server_->kept_uploads().count == 0; });
  EXPECT_THAT(Ask(Head("POST", "/3", Length(5)) + "hello"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(Ask(Patch(location, 3, std::string(13, 'x'))), StartsWith("HTTP/1.1 404 "));
}

TEST_F(UploadsTest, Kept_ThatComesTooSlowlyInAll_IsNotKeptForever) {
  ServerLimits limits;
  limits.upload_timeout = 300ms;
  Start(limits);
  const std::string location = Break("a", 1000);
  // Each byte is progress, and would be so for a thousand times the timeout.
  std::size_t at = 1;
  WaitUntil("it is dropped", [&] {
    const std::string patch = Patch(location, at, std::string(1000 - at, 'x'));
    TestPeer peer(path());
    peer.Send(patch.substr(0, patch.size() - (1000 - at - 1)));
    peer.EndSending();
    ++at;
    return peer.ReadAll().starts_with("HTTP/1.1 404 ");
  });
  EXPECT_LT(at, 1000U);
  EXPECT_EQ(server_->kept_uploads().count, 0U);
}

TEST_F(UploadsTest, BodyBeyondTheBudget_Answers503_AndNothingIsKept) {
  ServerLimits limits;
  limits.max_bodies_bytes = std::size_t{3} << 20;
  Start(limits);
  const std::string body(std::size_t{5} << 20, 'x');
  TestPeer peer(path());
  peer.Send(Head("POST", "/x", std::string(kUpload) + Length(body.size())));
  const std::string location = FieldOf(peer.ReadUntil("\r\n\r\n"), "Location");
  peer.Send(body);
  EXPECT_THAT(peer.ReadAll(), StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(Ask(Head("HEAD", location)), StartsWith("HTTP/1.1 404 "));
  // One that is kept, and whose rest has no room.
  const std::string first = body.substr(0, std::size_t{1} << 20);
  const std::string second = Break(first, body.size());
  EXPECT_THAT(Ask(Patch(second, first.size(), body.substr(first.size()))),
              AllOf(StartsWith("HTTP/1.1 503 "), Not(HasSubstr("Upload-Complete"))));
  EXPECT_THAT(Ask(Head("HEAD", second)), StartsWith("HTTP/1.1 404 "));
  const std::string fits = body.substr(0, limits.max_bodies_bytes);
  EXPECT_THAT(Ask(Head("POST", "/hash", Length(fits.size())) + fits), StartsWith("HTTP/1.1 200 "));
}

TEST_F(UploadsTest, KeptBeyondTheirLimit_TheOldestGo) {
  ServerLimits limits;
  limits.max_kept_bytes = 20;
  Start(limits);
  const std::string first = Break("a", 10);
  const std::string second = Break("b", 10);
  TestPeer peer(path());
  const std::string third = Bring(peer, "c", 10);
  EXPECT_THAT(Ask(Head("HEAD", third)), StartsWith("HTTP/1.1 204 "));
  EXPECT_THAT(Ask(Head("HEAD", first)), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(Ask(Head("HEAD", second)), StartsWith("HTTP/1.1 204 "));
  EXPECT_EQ(server_->kept_uploads().bytes, 20U);
  TestPeer large(path());
  const std::string fourth = Bring(large, "d", 21);
  EXPECT_THAT(Ask(Head("HEAD", fourth)), StartsWith("HTTP/1.1 404 "));
  EXPECT_EQ(server_->kept_uploads().count, 2U);
}

TEST_F(UploadsTest, TooMany_TheOldestKeptMakesPlace) {
  ServerLimits limits;
  limits.max_uploads = 1;
  Start(limits);
  const std::string kept = Break("a", 2);
  TestPeer peer(path());
  EXPECT_NE(Bring(peer, "a", 2), "");
  EXPECT_THAT(Ask(Head("HEAD", kept)), StartsWith("HTTP/1.1 404 "));
  EXPECT_EQ(server_->kept_uploads().count, 0U);
}

TEST_F(UploadsTest, TooManyThatAreBrought_AreOrdinaryRequests) {
  ServerLimits limits;
  limits.max_uploads = 1;
  Start(limits);
  TestPeer peer(path());
  Bring(peer, "abc", 6);
  EXPECT_THAT(Ask(Head("POST", "/x", std::string(kUpload) + Length(2)) + "ab"),
              AllOf(StartsWith("HTTP/1.1 200 "), EndsWith(" ab.")));
}

TEST_F(UploadsTest, WhoMayNoLongerAsk_DoesNotGoOn) {
  Start();
  const std::string location = Break("a", 2);
  teller_.refuses = true;
  EXPECT_THAT(Ask(Patch(location, 1, "b")),
              AllOf(StartsWith("HTTP/1.1 403 "), Not(HasSubstr("Upload-Complete"))));
  EXPECT_EQ(teller_.handled, 0);
  EXPECT_EQ(server_->kept_uploads().count, 0U);
}

TEST_F(UploadsTest, Stop_WithOnesThatAreKeptAndBrought_EndsAll) {
  Start();
  Break("a", 2);
  TestPeer peer(path());
  Bring(peer, "abc", 6);
  server_.reset();
  EXPECT_EQ(peer.ReadAll(), "");
}

}  // namespace
}  // namespace stoker::net
