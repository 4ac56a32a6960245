#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <set>
#include <stdexcept>
#include <thread>

#include "daemon/net/listener.h"
#include "protocol/wire/messages.h"
#include "tests/unit/daemon/net/test_peer.h"
#include "tests/unit/temp_folder.h"
#include "tests/unit/wait_until.h"

namespace stoker::net {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

// Answers by path.
class Echo : public HttpHandler {
 public:
  asio::awaitable<std::optional<HttpReply>> Handle(HttpRequest request,
                                                   HttpStream& stream) override {
    if (request.path == "/stream") {
      for (const char* piece : {"one", "", "two"}) {
        if (const Status sent = co_await stream.Send(piece); !sent.ok()) break;
      }
      co_return std::nullopt;
    }
    if (request.path == "/throw") throw std::runtime_error("thrown");
    if (request.path == "/throw-late") {
      (void)co_await stream.Send("one");
      throw std::runtime_error("thrown");
    }
    if (request.path == "/wait") {
      entered.store(true);
      entered.notify_all();
      asio::steady_timer pause(co_await asio::this_coro::executor);
      while (!released) {
        pause.expires_after(1ms);
        co_await pause.async_wait(asio::use_awaitable);
      }
    }
    HttpReply reply;
    reply.content_type = "text/plain";
    reply.body = request.method + " " + request.path + "?" + request.query + " " +
                 std::to_string(request.body.size());
    if (request.path == "/job") reply.body = "job=" + request.job + "|";
    if (request.path == "/peer") {
      reply.body = std::string(request.peer.over_tcp ? "tcp " : "unix ") +
                   (request.peer.uid ? std::to_string(*request.peer.uid) : "unknown") + " " +
                   request.authorization.value_or("") + ".";
    }
    if (request.path == "/id") reply.body = request.id + "!";
    if (request.path == "/range") {
      auto shared = std::make_shared<const std::string>("0123456789");
      reply.body = Body(shared, *shared);
      reply.accepts_ranges = true;
    }
    if (request.path == "/large") reply.body = std::string(8 << 20, 'x');
    if (request.path == "/busy") {
      reply.status = 503;
      reply.retry_after_s = 7;
    }
    co_return reply;
  }
  Admission Admit(const HttpRequest& header) override {
    if (header.path != "/forbidden") return {std::nullopt, std::size_t{1} << 30};
    HttpReply refusal;
    refusal.status = 403;
    refusal.body = "forbidden!";
    return {refusal};
  }
  bool IsUrgent(std::string_view path) const override { return path == "/urgent"; }

  std::atomic<bool> entered{false};
  std::atomic<bool> released{false};
};

std::string Get(const std::string& path, const std::string& headers = "") {
  return "GET " + path + " HTTP/1.1\r\nHost: h\r\n" + headers + "\r\n";
}

class ServerTest : public testing::Test {
 protected:
  void Start(ServerLimits limits = {}) {
    server_ = std::make_unique<Server>(echo_, limits);
    ListenAddress address;
    address.path = folder_.path() + "/s";
    ASSERT_TRUE(server_->Listen(address).ok());
  }
  std::string path() const { return folder_.path() + "/s"; }

  ~ServerTest() override {
    echo_.released = true;
    server_.reset();
  }

  // What /throw and friends answer with.
  static Error ErrorIn(const std::string& answer) {
    const auto reply = wire::DecodeErrorReply(answer.substr(answer.find("\r\n\r\n") + 4));
    STOKER_CHECK(reply.ok());
    return wire::ErrorOf(*reply);
  }

  TempFolder folder_;
  Echo echo_;
  std::unique_ptr<Server> server_;
};

TEST_F(ServerTest, Socket_IsForItsUserAlone) {
  Start();
  struct stat status {};
  ASSERT_EQ(stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(ServerTest, Request_IsHandedOnWithMethodPathQueryAndBody) {
  Start();
  TestPeer peer(path());
  peer.Send("POST /a/b?c=d HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello");
  const std::string answer = peer.ReadUntil("d 5");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, EndsWith("POST /a/b?c=d 5"));
}

TEST_F(ServerTest, KeepAlive_SecondRequestAndPipelinedOnesAreAnsweredInOrder) {
  Start();
  TestPeer peer(path());
  peer.Send(Get("/1"));
  EXPECT_THAT(peer.ReadUntil("? 0"), HasSubstr("GET /1?"));
  peer.Send(Get("/2") + Get("/3"));
  EXPECT_THAT(peer.ReadUntil("? 0"), HasSubstr("GET /2?"));
  EXPECT_THAT(peer.ReadUntil("? 0"), HasSubstr("GET /3?"));
  peer.Send(Get("/4", "Connection: close\r\n"));
  EXPECT_THAT(peer.ReadAll(), HasSubstr("GET /4?"));
}

TEST_F(ServerTest, Head_HasTheLengthAndNoBody) {
  Start();
  TestPeer peer(path());
  peer.Send("HEAD /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  const std::string answer = peer.ReadAll();
  EXPECT_THAT(answer, HasSubstr("Content-Length: 10\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n"));
}

TEST_F(ServerTest, Stream_IsChunkedAndLeavesTheConnectionUsable) {
  Start();
  TestPeer peer(path());
  peer.Send(Get("/stream"));
  const std::string answer = peer.ReadUntil("0\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("Transfer-Encoding: chunked"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"));
  peer.Send(Get("/after"));
  EXPECT_THAT(peer.ReadUntil("? 0"), HasSubstr("/after"));
}

TEST_F(ServerTest, Reply_WithRetryAfter_HasTheHeader) {
  Start();
  TestPeer peer(path());
  peer.Send(Get("/busy", "Connection: close\r\n"));
  const std::string answer = peer.ReadAll();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(answer, HasSubstr("Retry-After: 7\r\n"));
}

TEST_F(ServerTest, HandlerThrows_Answers500OrCutsTheStream) {
  Start();
  TestPeer peer(path());
  peer.Send(Get("/throw", "Connection: close\r\n"));
  const std::string answer = peer.ReadAll();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 500 "));
  EXPECT_EQ(ErrorIn(answer).code, ErrorCode::kInternal);
  EXPECT_THAT(ErrorIn(answer).message, HasSubstr("thrown"));
  TestPeer cut(path());
  cut.Send(Get("/throw-late"));
  EXPECT_THAT(cut.ReadAll(), EndsWith("3\r\none\r\n"));  // No last chunk.
}

TEST_F(ServerTest, NoHttp_Answers400AndCloses) {
  Start();
  for (const char* nonsense :
       {"\x16\x03\x01 hello\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: minus\r\n\r\n"}) {
    TestPeer peer(path());
    peer.Send(nonsense);
    const std::string answer = peer.ReadAll();
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 400 ")) << nonsense;
    EXPECT_EQ(ErrorIn(answer).code, ErrorCode::kInvalidArgument);
  }
}

TEST_F(ServerTest, HeaderBeyondTheLimit_Answers431) {
  ServerLimits limits;
  limits.max_header_bytes = 256;
  Start(limits);
  TestPeer peer(path());
  peer.Send(Get("/", "X: " + std::string(300, 'x') + "\r\n"));
  EXPECT_THAT(peer.ReadAll(), StartsWith("HTTP/1.1 431 "));
}

// The limit is of the whole header, its first line too, however it comes.
TEST_F(ServerTest, HeaderOfTheLimit_IsRead_OneByteMoreIsNot) {
  ServerLimits limits;
  limits.max_header_bytes = 256;
  Start(limits);
  const std::size_t rest = Get("/", "X: \r\n").size();
  for (const std::size_t bytes : {limits.max_header_bytes, limits.max_header_bytes + 1}) {
    const std::string request = Get("/", "X: " + std::string(bytes - rest, 'x') + "\r\n");
    ASSERT_EQ(request.size(), bytes);
    const std::string_view status = bytes == limits.max_header_bytes ? "200" : "431";
    for (const std::size_t piece : {request.size(), std::size_t{7}}) {
      TestPeer peer(path());
      for (std::size_t at = 0; at < bytes; at += piece) peer.Send(request.substr(at, piece));
      EXPECT_THAT(peer.ReadUntil("\r\n"), StartsWith("HTTP/1.1 " + std::string(status))) << piece;
    }
  }
}

TEST_F(ServerTest, ChunkHeaderOrTrailerBeyondTheLimit_Answers431) {
  ServerLimits limits;
  limits.max_header_bytes = 256;
  Start(limits);
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string body(1000, 'x');  // No header, however long.
  const std::string long_text(300, 'x');
  for (const auto& [rest, status] : {std::pair("3e8\r\n" + body + "\r\n0\r\n\r\n", "200"),
                                     std::pair("3;x=" + long_text + "\r\nabc\r\n0\r\n\r\n", "431"),
                                     std::pair("0\r\nX: " + long_text + "\r\n\r\n", "431")}) {
    TestPeer peer(path());
    peer.Send(head + rest);
    EXPECT_THAT(peer.ReadUntil("\r\n"), StartsWith("HTTP/1.1 " + std::string(status))) << rest;
  }
}

TEST_F(ServerTest, BodyBeyondTheLimit_Answers413_AnnouncedOrNot) {
  ServerLimits limits;
  limits.max_body_bytes = 16;
  Start(limits);
  const std::string long_body(17, 'x');
  for (const std::string& request :
       {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 17\r\n\r\n" + long_body,
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 17\r\nExpect: 100-continue\r\n\r\n" +
            std::string(),
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n11\r\n" + long_body +
            "\r\n0\r\n\r\n"}) {
    TestPeer peer(path());
    peer.Send(request);
    const std::string answer = peer.ReadAll();
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 413 ")) << request;
    EXPECT_THAT(ErrorIn(answer).message, HasSubstr("limit of 16 bytes"));
  }
  TestPeer peer(path());
  peer.Send("POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 16\r\n\r\n" + std::string(16, 'x'));
  EXPECT_THAT(peer.ReadUntil("? 16"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(ServerTest, BodiesBeyondTheirCommonLimit_Answer503_UntilOneEnds) {
  ServerLimits limits;
  limits.max_body_bytes = 16;
  limits.max_bodies_bytes = 20;
  Start(limits);
  TestPeer first(path());
  first.Send("POST /1 HTTP/1.1\r\nHost: h\r\nContent-Length: 16\r\nExpect: 100-continue\r\n\r\n");
  first.ReadUntil("\r\n\r\n");
  for (const char* rest :
       {"Content-Length: 5\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"}) {
    TestPeer second(path());
    second.Send("POST /2 HTTP/1.1\r\nHost: h\r\n" + std::string(rest));
    const std::string answer = second.ReadAll();
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 503 "));
    EXPECT_THAT(answer, HasSubstr("Retry-After: 1\r\n"));
    EXPECT_THAT(ErrorIn(answer).message, HasSubstr("limit of 20 bytes"));
  }
  TestPeer bodiless(path());
  bodiless.Send(Get("/3"));
  EXPECT_THAT(bodiless.ReadUntil("? 0"), StartsWith("HTTP/1.1 200 "));
  first.Send(std::string(16, 'x'));
  EXPECT_THAT(first.ReadUntil("? 16"), StartsWith("HTTP/1.1 200 "));
  first.Send("POST /4 HTTP/1.1\r\nHost: h\r\nContent-Length: 16\r\n\r\n" + std::string(16, 'x'));
  EXPECT_THAT(first.ReadUntil("? 16"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(ServerTest, RefusedOverTcp_WhileStillSending_ReadsTheRefusal) {
  ServerLimits limits;
  limits.max_body_bytes = 16;
  limits.linger_timeout = 60s;
  Start(limits);
  const auto bound = server_->Listen(*ListenAddress::Parse("http://127.0.0.1:0"));
  ASSERT_TRUE(bound.ok());
  TestPeer peer(*bound);
  peer.Send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000000\r\n\r\n");
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(peer.Send(std::string(100000, 'x')));
  EXPECT_THAT(peer.ReadAll(), StartsWith("HTTP/1.1 413 "));
}

TEST_F(ServerTest, Expect100_IsToldToGoOn) {
  Start();
  TestPeer peer(path());
  peer.Send("POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(peer.ReadUntil("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  peer.Send("ab");
  EXPECT_THAT(peer.ReadUntil("? 2"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(ServerTest, SlowClient_IsCutOff_OthersAreServed) {
  ServerLimits limits;
  limits.header_timeout = 1s;  // A machine that is busy delays the other client by less.
  limits.progress_timeout = 1s;
  Start(limits);
  TestPeer slow_header(path());
  TestPeer slow_body(path());
  slow_header.Send("GET / HT");
  slow_body.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhe");
  TestPeer other(path());
  other.Send(Get("/other"));
  EXPECT_THAT(other.ReadUntil("? 0"), HasSubstr("/other"));
  EXPECT_EQ(slow_header.ReadAll(), "");
  EXPECT_EQ(slow_body.ReadAll(), "");
}

TEST_F(ServerTest, IdleConnection_IsClosedAfterItsTimeout) {
  ServerLimits limits;
  limits.idle_timeout = 10ms;
  Start(limits);
  TestPeer peer(path());
  EXPECT_EQ(peer.ReadAll(), "");
}

TEST_F(ServerTest, ConnectionBeyondTheLimit_TakesThePlaceOfAnIdleOne) {
  ServerLimits limits;
  limits.threads = 1;
  limits.max_connections = 2;
  Start(limits);
  TestPeer first(path());
  first.Send(Get("/1"));
  first.ReadUntil("? 0");
  TestPeer second(path());
  second.Send(Get("/2"));
  second.ReadUntil("? 0");
  first.Send(Get("/1"));  // Now the second has been idle longer.
  first.ReadUntil("? 0");
  TestPeer third(path());
  third.Send(Get("/3"));
  EXPECT_THAT(third.ReadUntil("? 0"), StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(second.ReadAll(), "");
  first.Send(Get("/1"));
  EXPECT_THAT(first.ReadUntil("? 0"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(ServerTest, ConnectionBeyondTheLimit_WhereNoneIsIdle_IsForWhatIsUrgent) {
  ServerLimits limits;
  limits.threads = 1;
  limits.max_connections = 1;
  limits.max_urgent_connections = 1;
  Start(limits);
  TestPeer busy(path());
  busy.Send(Get("/wait"));
  echo_.entered.wait(false);
  {
    TestPeer other(path());
    other.Send(Get("/other"));
    const std::string answer = other.ReadAll();
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 503 "));
    EXPECT_THAT(answer, HasSubstr("Retry-After: 1\r\n"));
    EXPECT_THAT(ErrorIn(answer).message, HasSubstr("All 1 connections"));
  }
  WaitUntil("it is gone", [this] { return server_->connections() == 1; });
  TestPeer urgent(path());
  urgent.Send(Get("/urgent"));
  EXPECT_THAT(urgent.ReadAll(), StartsWith("HTTP/1.1 200 "));  // And is closed.
  WaitUntil("it is gone", [this] { return server_->connections() == 1; });
  TestPeer silent(path());  // Takes the urgent place,
  WaitUntil("it is there", [this] { return server_->connections() == 2; });
  TestPeer next(path());  // and loses it.
  EXPECT_EQ(silent.ReadAll(), "");
  next.Send(Get("/urgent"));
  EXPECT_THAT(next.ReadAll(), StartsWith("HTTP/1.1 200 "));
  echo_.released = true;
  EXPECT_THAT(busy.ReadUntil("? 0"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(ServerTest, ConnectionBeyondTheLimit_TakesThePlaceOfTheOldestWhoseHeaderHasNotCome) {
  ServerLimits limits;
  limits.threads = 1;
  limits.max_connections = 3;
  limits.max_urgent_connections = 1;
  Start(limits);
  TestPeer busy(path());
  busy.Send(Get("/wait"));
  echo_.entered.wait(false);
  const auto reading = [this](std::size_t count) {
    WaitUntil("they are read", [this, count] {
      return server_->connections_by_state()[static_cast<int>(ConnectionState::kReading)] == count;
    });
  };
  TestPeer first(path());
  first.Send("GET /first HTTP/1.1\r\n");
  reading(1);
  TestPeer second(path());
  second.Send("GET /second HTTP/1.1\r\n");
  reading(2);
  TestPeer third(path());
  third.Send(Get("/third"));
  EXPECT_THAT(third.ReadUntil("? 0"), StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(first.ReadAll(), "");
  second.Send("Host: h\r\n\r\n");
  EXPECT_THAT(second.ReadUntil("? 0"), StartsWith("HTTP/1.1 200 "));
  echo_.released = true;
  EXPECT_THAT(busy.ReadUntil("? 0"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(ServerTest, Peer_IsTheUserOfTheProcess_OnEveryTransport) {
  Start();
  const std::string own = std::to_string(geteuid());
  TestPeer over_unix(path());
  over_unix.Send(Get("/peer", "Authorization: Bearer b\r\n"));
  EXPECT_THAT(over_unix.ReadUntil("b."), EndsWith("unix " + own + " Bearer b."));
  const auto bound = server_->Listen(*ListenAddress::Parse("http://127.0.0.1:0"));
  ASSERT_TRUE(bound.ok());
  TestPeer over_tcp(*bound);
  over_tcp.Send("GET /peer HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(over_tcp.ReadUntil(" ."), EndsWith("tcp " + own + " ."));
  TestPeer half_closed(*bound);
  half_closed.Send("GET /peer HTTP/1.1\r\nHost: 127.9.9.9\r\nConnection: close\r\n\r\n");
  half_closed.EndSending();
  EXPECT_THAT(half_closed.ReadAll(), EndsWith("tcp " + own + " ."));
}

TEST_F(ServerTest, WhoMayNotAsk_IsRefusedBeforeTheBodyIsReadOrKept) {
  ServerLimits limits;
  limits.max_bodies_bytes = 16;
  limits.linger_timeout = 10ms;
  Start(limits);
  TestPeer peer(path());
  peer.Send(
      "PUT /forbidden HTTP/1.1\r\nHost: h\r\nContent-Length: 400000000\r\n"
      "Expect: 100-continue\r\n\r\n");
  EXPECT_THAT(peer.ReadAll(), StartsWith("HTTP/1.1 403 "));  // No 100, and closed.
  TestPeer bodiless(path());
  bodiless.Send(Get("/forbidden") + Get("/after"));
  EXPECT_THAT(bodiless.ReadUntil("forbidden!"), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(bodiless.ReadUntil("? 0"), HasSubstr("/after"));
}

TEST_F(ServerTest, BodyThatTrickles_IsCutOff) {
  ServerLimits limits;
  limits.progress_timeout = 300ms;
  limits.min_body_bytes_per_s = 1 << 20;
  Start(limits);
  TestPeer peer(path());
  peer.Send("POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n");
  std::atomic<bool> ended{false};
  std::thread trickle([&] {
    while (!ended && peer.Send("x")) std::this_thread::sleep_for(20ms);
  });
  EXPECT_EQ(peer.ReadAll(), "");
  ended = true;
  trickle.join();
}

// What others on the way might take for another request.
TEST_F(ServerTest, AmbiguousFraming_IsRefused) {
  Start();
  const std::string smuggled = "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n";
  const std::pair<std::string, std::string> rows[] = {
      {"POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n", "501"},
      {"POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: identity\r\n\r\n", "501"},
      {"POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked, identity\r\n\r\n", "501"},
      {"POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "501"},
      {"POST /x HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n", "400"},
      {"GET /x HTTP/1.1\r\n\r\n", "400"},
      {"GET /x HTTP/1.1\r\nHost: h\r\nHost: i\r\n\r\n", "400"},
      {"GET /x HTTP/1.1\r\nHost: h\r\nAuthorization: a\r\nAuthorization: b\r\n\r\n", "400"}};
  for (const auto& [request, status] : rows) {
    TestPeer peer(path());
    peer.Send(request + smuggled);
    const std::string answer = peer.ReadAll();
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 " + status + " ")) << request;
    EXPECT_THAT(answer, testing::Not(HasSubstr("/smuggled?"))) << request;
  }
}

// A header that has ended is not waited for, wherever it was cut.
TEST_F(ServerTest, FirstLineWithoutAWholeVersion_IsRefused) {
  Start();
  for (const std::string line :
       {"GET /x 0", "GET /x H", "GET /x HTTP", "GET /x HTTP/1", "GET /x"}) {
    for (std::size_t first = 1; first <= line.size() + 4; ++first) {
      TestPeer peer(path());
      const std::string request = line + "\r\n\r\n";
      peer.Send(request.substr(0, first));
      if (first < request.size()) peer.Send(request.substr(first));
      EXPECT_THAT(peer.ReadAll(), AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("no HTTP request")))
          << line << " cut at " << first;
    }
  }
}

TEST_F(ServerTest, Range_IsForGetWithoutACondition) {
  Start();
  TestPeer peer(path());
  peer.Send("HEAD /range HTTP/1.1\r\nHost: h\r\nRange: bytes=1-2\r\n\r\n");
  EXPECT_THAT(peer.ReadUntil("\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("Content-Length: 10\r\n")));
  peer.Send(Get("/range", "Range: bytes=1-2\r\nIf-Range: \"x\"\r\n"));
  EXPECT_THAT(peer.ReadUntil("0123456789"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(ServerTest, RequestId_IsTheClients_OrMadeUp) {
  Start();
  TestPeer peer(path());
  peer.Send(Get("/id", "X-Request-Id: job-7.a_B\r\n"));
  const std::string kept = peer.ReadUntil("B!");
  EXPECT_THAT(kept, HasSubstr("X-Request-Id: job-7.a_B\r\n"));
  std::set<std::string> made;
  for (const std::string& id : {std::string(), std::string("a b"), std::string(65, 'x')}) {
    peer.Send(Get("/id", id.empty() ? "" : "X-Request-Id: " + id + "\r\n"));
    const std::string answer = peer.ReadUntil("!");
    EXPECT_THAT(answer, testing::ContainsRegex("X-Request-Id: [0-9a-f]{16}"));
    made.insert(answer);
  }
  EXPECT_EQ(made.size(), 3U);
}

TEST_F(ServerTest, Job_IsWhatTheClientSays_IfItIsAJobsName) {
  Start();
  TestPeer peer(path());
  const std::pair<std::string, std::string> rows[] = {
      {"team/train.py", "team/train.py"}, {"a b", ""}, {std::string(65, 'x'), ""}, {"", ""}};
  for (const auto& [said, job] : rows) {
    peer.Send(Get("/job", said.empty() ? "" : "X-Stoker-Job: " + said + "\r\n"));
    EXPECT_THAT(peer.ReadUntil("|"), EndsWith("\r\n\r\njob=" + job + "|")) << said;
  }
}

TEST_F(ServerTest, ConnectionsByState_AddUp) {
  Start();
  const auto count = [&](ConnectionState state) {
    return server_->connections_by_state()[static_cast<std::size_t>(state)];
  };
  {
    TestPeer idle(path());
    TestPeer reading(path());
    WaitUntil("both are idle", [&] { return count(ConnectionState::kIdle) == 2; });
    reading.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n123");
    WaitUntil("one is read", [&] { return count(ConnectionState::kReading) == 1; });
    EXPECT_EQ(count(ConnectionState::kIdle), 1U);
    reading.Send("45");
    reading.ReadUntil("POST /? 5");
    WaitUntil("both are idle again", [&] { return count(ConnectionState::kIdle) == 2; });
    EXPECT_EQ(count(ConnectionState::kReading), 0U);
  }
  WaitUntil("both are gone", [&] { return count(ConnectionState::kIdle) == 0; });
  for (const std::size_t each : server_->connections_by_state()) EXPECT_EQ(each, 0U);
}

struct RangeRow {
  std::string range;
  std::string status;
  std::string content_range;  // Empty: no such header.
  std::string body;
};

class ServerRanges : public ServerTest, public testing::WithParamInterface<RangeRow> {};

TEST_P(ServerRanges, Get_GivesThePart) {
  Start();
  TestPeer peer(path());
  peer.Send(Get("/range", "Range: " + GetParam().range + "\r\nConnection: close\r\n"));
  const std::string answer = peer.ReadAll();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 " + GetParam().status + " "));
  if (GetParam().content_range.empty()) {
    EXPECT_THAT(answer, testing::Not(HasSubstr("Content-Range")));
  } else {
    EXPECT_THAT(answer, HasSubstr("Content-Range: bytes " + GetParam().content_range + "\r\n"));
  }
  if (GetParam().status == "416") {
    EXPECT_EQ(ErrorIn(answer).code, ErrorCode::kInvalidArgument);
  } else {
    EXPECT_THAT(answer, EndsWith("\r\n\r\n" + GetParam().body));
  }
}

INSTANTIATE_TEST_SUITE_P(Ranges, ServerRanges,
                         testing::Values(RangeRow{"bytes=2-4", "206", "2-4/10", "234"},
                                         RangeRow{"bytes=7-", "206", "7-9/10", "789"},
                                         RangeRow{"bytes=-3", "206", "7-9/10", "789"},
                                         RangeRow{"bytes=-30", "206", "0-9/10", "0123456789"},
                                         RangeRow{"bytes=9-99", "206", "9-9/10", "9"},
                                         RangeRow{"bytes=10-", "416", "*/10", ""},
                                         RangeRow{"bytes=-0", "416", "*/10", ""},
                                         RangeRow{"bytes=4-2", "200", "", "0123456789"},
                                         RangeRow{"bytes=1-2,4-5", "200", "", "0123456789"},
                                         RangeRow{"lines=1-2", "200", "", "0123456789"},
                                         RangeRow{"bytes=99999999999999999999-", "200", "",
                                                  "0123456789"}));

TEST_F(ServerTest, ReplyThatNobodyReads_CostsItsConnection_AndItsRoom) {
  ServerLimits limits;
  limits.max_replies_bytes = 9 << 20;
  limits.progress_timeout = 1s;
  Start(limits);
  TestPeer slow(path());
  slow.Send(Get("/large"));
  WaitUntil("it is being sent", [this] { return server_->active_requests() == 1; });
  TestPeer refused(path());
  std::string answer;
  WaitUntil("there is no room", [&] {
    refused.Send(Get("/large"));
    answer = refused.ReadUntil("\r\n\r\n");
    return answer.starts_with("HTTP/1.1 503 ") || answer.empty();
  });
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 503 "));
  WaitUntil("the slow one is cut off", [this] { return server_->connections() == 1; });
}

TEST_F(ServerTest, ForeignPage_MayNotCommand) {
  Start();
  TestPeer peer(path());
  peer.Send(Get("/", "Origin: http://evil.example\r\n"));
  EXPECT_THAT(peer.ReadUntil("evil.example."), StartsWith("HTTP/1.1 403 "));
  TestPeer own(path());
  own.Send(Get("/", "Origin: http://h\r\n"));
  EXPECT_THAT(own.ReadUntil("? 0"), StartsWith("HTTP/1.1 200 "));
}

// As a page would that has a name of its own lead to this host.
TEST_F(ServerTest, ForeignNameOverTcp_IsRefused) {
  Start();
  const auto bound = server_->Listen(*ListenAddress::Parse("http://127.0.0.1:0"));
  ASSERT_TRUE(bound.ok());
  const std::string port = ":" + std::to_string(bound->port);
  for (const std::string& host :
       {"localhost" + port, "127.0.0.1" + port, "[::1]" + port, std::string("localhost")}) {
    TestPeer peer(*bound);
    peer.Send("GET / HTTP/1.1\r\nHost: " + host + "\r\nOrigin: http://" + host + "\r\n\r\n");
    EXPECT_THAT(peer.ReadUntil("? 0"), StartsWith("HTTP/1.1 200 ")) << host;
  }
  for (const std::string& host : {"evil.example" + port, std::string("localhost.evil.example"),
                                  std::string("[::1].evil.example")}) {
    TestPeer peer(*bound);
    peer.Send("GET / HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n");
    const std::string answer = peer.ReadAll();
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 403 "));
    EXPECT_THAT(ErrorIn(answer).message, HasSubstr("'" + host + "'"));
  }
}

// What other hosts call this one cannot be known, and a proxy's user is not that of who asks.
TEST_F(ServerTest, OverTheNetwork_EveryHostIsRight_AndNoUserIsKnown) {
  Start();
  const auto bound = server_->Listen(*ListenAddress::Parse("http://0.0.0.0:0"));
  ASSERT_TRUE(bound.ok());
  TestPeer peer(*bound);
  peer.Send("GET /peer HTTP/1.1\r\nHost: cache.example\r\n\r\n");
  EXPECT_THAT(peer.ReadUntil(" ."), EndsWith("tcp unknown ."));
  TestPeer foreign(*bound);
  foreign.Send("GET / HTTP/1.1\r\nHost: cache.example\r\nOrigin: http://evil.example\r\n\r\n");
  EXPECT_THAT(foreign.ReadUntil("evil.example."), StartsWith("HTTP/1.1 403 "));
}

TEST_F(ServerTest, StopAccepting_FinishesTheRequest_ClosesTheIdle_FreesTheAddress) {
  Start();
  TestPeer idle(path());
  idle.Send(Get("/"));
  idle.ReadUntil("? 0");
  TestPeer busy(path());
  busy.Send(Get("/wait"));
  echo_.entered.wait(false);
  // The idle client has its answer before the server has done with its request.
  WaitUntil("one request is left", [this] { return server_->active_requests() == 1; });

  server_->StopAccepting();
  EXPECT_EQ(idle.ReadAll(), "");
  EXPECT_FALSE(TestPeer(path()).connected());
  Server next(echo_, ServerLimits{});
  ListenAddress address;
  address.path = path();
  ASSERT_TRUE(next.Listen(address).ok());

  echo_.released = true;
  EXPECT_THAT(busy.ReadAll(), AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("Connection: close")));
  WaitUntil("it is answered", [this] { return server_->active_requests() == 0; });
}

TEST_F(ServerTest, Listen_Taken_IsRefused) {
  Start();
  Server other(echo_, ServerLimits{});
  ListenAddress address;
  address.path = path();
  const auto bound = other.Listen(address);
  ASSERT_FALSE(bound.ok());
  EXPECT_EQ(bound.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_TRUE(TestPeer(path()).connected());
}

TEST_F(ServerTest, Listen_OnPortZero_TellsThePort) {
  Start();
  const auto bound = server_->Listen(*ListenAddress::Parse("http://127.0.0.1:0"));
  ASSERT_TRUE(bound.ok());
  EXPECT_NE(bound->port, 0);
  const auto again = server_->Listen(*bound);
  ASSERT_FALSE(again.ok());
  EXPECT_THAT(again.error().message, HasSubstr("Address already in use"));
}

}  // namespace
}  // namespace stoker::net
