#include <gmock/gmock.h>
#include <sys/stat.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <stdexcept>
#include <thread>

#include "daemon/net/listener.h"
#include "protocol/wire/messages.h"
#include "tests/unit/daemon/net/peer.h"
#include "tests/unit/temp_folder.h"
#include "tests/unit/wait_until.h"

namespace stoker::net {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
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
    if (request.path == "/busy") {
      reply.status = 503;
      reply.retry_after_s = 7;
    }
    co_return reply;
  }

  std::atomic<bool> entered{false};
  std::atomic<bool> released{false};
};

std::string Get(const std::string& path, const std::string& headers = "") {
  return "GET " + path + " HTTP/1.1\r\nHost: h\r\n" + headers + "\r\n";
}

class ServerTest : public testing::Test {
 protected:
  void Start(ServerLimits limits = {}) {
    server_ = std::make_unique<Server>(io_.get_executor(), echo_, limits);
    ListenAddress address;
    address.path = folder_.path() + "/s";
    ASSERT_TRUE(server_->Listen(address).ok());
    for (int i = 0; i < 2; ++i) threads_.emplace_back([this] { io_.run(); });
  }
  std::string path() const { return folder_.path() + "/s"; }

  ~ServerTest() override {
    echo_.released = true;
    io_.stop();
    for (std::thread& thread : threads_) thread.join();
  }

  // What /throw and friends answer with.
  static Error ErrorIn(const std::string& answer) {
    const auto reply = wire::DecodeErrorReply(answer.substr(answer.find("\r\n\r\n") + 4));
    STOKER_CHECK(reply.ok());
    return wire::ErrorOf(*reply);
  }

  TempFolder folder_;
  Echo echo_;
  asio::io_context io_;
  std::unique_ptr<Server> server_;
  std::vector<std::thread> threads_;
};

TEST_F(ServerTest, Socket_IsForItsUserAlone) {
  Start();
  struct stat status {};
  ASSERT_EQ(stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(ServerTest, Request_IsHandedOnWithMethodPathQueryAndBody) {
  Start();
  Peer peer(path());
  peer.Send("POST /a/b?c=d HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello");
  const std::string answer = peer.ReadUntil("d 5");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, EndsWith("POST /a/b?c=d 5"));
}

TEST_F(ServerTest, KeepAlive_SecondRequestAndPipelinedOnesAreAnsweredInOrder) {
  Start();
  Peer peer(path());
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
  Peer peer(path());
  peer.Send("HEAD /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  const std::string answer = peer.ReadAll();
  EXPECT_THAT(answer, HasSubstr("Content-Length: 10\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n"));
}

TEST_F(ServerTest, Stream_IsChunkedAndLeavesTheConnectionUsable) {
  Start();
  Peer peer(path());
  peer.Send(Get("/stream"));
  const std::string answer = peer.ReadUntil("0\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("Transfer-Encoding: chunked"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"));
  peer.Send(Get("/after"));
  EXPECT_THAT(peer.ReadUntil("? 0"), HasSubstr("/after"));
}

TEST_F(ServerTest, Reply_WithRetryAfter_HasTheHeader) {
  Start();
  Peer peer(path());
  peer.Send(Get("/busy", "Connection: close\r\n"));
  const std::string answer = peer.ReadAll();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(answer, HasSubstr("Retry-After: 7\r\n"));
}

TEST_F(ServerTest, HandlerThrows_Answers500OrCutsTheStream) {
  Start();
  Peer peer(path());
  peer.Send(Get("/throw", "Connection: close\r\n"));
  const std::string answer = peer.ReadAll();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 500 "));
  EXPECT_EQ(ErrorIn(answer).code, ErrorCode::kInternal);
  EXPECT_THAT(ErrorIn(answer).message, HasSubstr("thrown"));
  Peer cut(path());
  cut.Send(Get("/throw-late"));
  EXPECT_THAT(cut.ReadAll(), EndsWith("3\r\none\r\n"));  // No last chunk.
}

TEST_F(ServerTest, NoHttp_Answers400AndCloses) {
  Start();
  for (const char* nonsense :
       {"\x16\x03\x01 hello\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: minus\r\n\r\n"}) {
    Peer peer(path());
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
  Peer peer(path());
  peer.Send(Get("/", "X: " + std::string(300, 'x') + "\r\n"));
  EXPECT_THAT(peer.ReadAll(), StartsWith("HTTP/1.1 431 "));
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
    Peer peer(path());
    peer.Send(request);
    const std::string answer = peer.ReadAll();
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 413 ")) << request;
    EXPECT_THAT(ErrorIn(answer).message, HasSubstr("limit of 16 bytes"));
  }
  Peer peer(path());
  peer.Send("POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 16\r\n\r\n" + std::string(16, 'x'));
  EXPECT_THAT(peer.ReadUntil("? 16"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(ServerTest, BodiesBeyondTheirCommonLimit_Answer503_UntilOneEnds) {
  ServerLimits limits;
  limits.max_body_bytes = 16;
  limits.max_bodies_bytes = 20;
  Start(limits);
  Peer first(path());
  first.Send("POST /1 HTTP/1.1\r\nHost: h\r\nContent-Length: 16\r\nExpect: 100-continue\r\n\r\n");
  first.ReadUntil("\r\n\r\n");
  for (const char* header : {"Content-Length: 5", "Transfer-Encoding: chunked"}) {
    Peer second(path());
    second.Send("POST /2 HTTP/1.1\r\nHost: h\r\n" + std::string(header) + "\r\n\r\n");
    const std::string answer = second.ReadAll();
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 503 "));
    EXPECT_THAT(answer, HasSubstr("Retry-After: 1\r\n"));
    EXPECT_THAT(ErrorIn(answer).message, HasSubstr("limit of 20 bytes"));
  }
  Peer bodiless(path());
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
  Peer peer(*bound);
  peer.Send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000000\r\n\r\n");
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(peer.Send(std::string(100000, 'x')));
  EXPECT_THAT(peer.ReadAll(), StartsWith("HTTP/1.1 413 "));
}

TEST_F(ServerTest, Expect100_IsToldToGoOn) {
  Start();
  Peer peer(path());
  peer.Send("POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(peer.ReadUntil("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  peer.Send("ab");
  EXPECT_THAT(peer.ReadUntil("? 2"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(ServerTest, SlowClient_IsCutOff_OthersAreServed) {
  ServerLimits limits;
  limits.header_timeout = 1s;  // A machine that is busy delays the other client by less.
  limits.transfer_timeout = 1s;
  Start(limits);
  Peer slow_header(path());
  Peer slow_body(path());
  slow_header.Send("GET / HT");
  slow_body.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhe");
  Peer other(path());
  other.Send(Get("/other"));
  EXPECT_THAT(other.ReadUntil("? 0"), HasSubstr("/other"));
  EXPECT_EQ(slow_header.ReadAll(), "");
  EXPECT_EQ(slow_body.ReadAll(), "");
}

TEST_F(ServerTest, IdleConnection_IsClosedAfterItsTimeout) {
  ServerLimits limits;
  limits.idle_timeout = 10ms;
  Start(limits);
  Peer peer(path());
  EXPECT_EQ(peer.ReadAll(), "");
}

TEST_F(ServerTest, ConnectionBeyondTheLimit_Gets503_UntilOneEnds) {
  ServerLimits limits;
  limits.max_connections = 1;
  Start(limits);
  auto first = std::make_unique<Peer>(path());
  first->Send(Get("/"));
  first->ReadUntil("? 0");
  Peer second(path());
  const std::string answer = second.ReadAll();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(answer, HasSubstr("Retry-After: 1\r\n"));
  first.reset();
  WaitUntil("it is gone", [this] { return server_->connections() == 0; });
  Peer third(path());
  third.Send(Get("/"));
  EXPECT_THAT(third.ReadUntil("? 0"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(ServerTest, ForeignPage_MayNotCommand) {
  Start();
  Peer peer(path());
  peer.Send(Get("/", "Origin: http://evil.example\r\n"));
  EXPECT_THAT(peer.ReadUntil("evil.example."), StartsWith("HTTP/1.1 403 "));
  Peer own(path());
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
    Peer peer(*bound);
    peer.Send("GET / HTTP/1.1\r\nHost: " + host + "\r\nOrigin: http://" + host + "\r\n\r\n");
    EXPECT_THAT(peer.ReadUntil("? 0"), StartsWith("HTTP/1.1 200 ")) << host;
  }
  for (const std::string& host : {"evil.example" + port, std::string("localhost.evil.example"),
                                  std::string("[::1].evil.example")}) {
    Peer peer(*bound);
    peer.Send("GET / HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n");
    const std::string answer = peer.ReadAll();
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 403 "));
    EXPECT_THAT(ErrorIn(answer).message, HasSubstr("'" + host + "'"));
  }
}

TEST_F(ServerTest, StopAccepting_FinishesTheRequest_ClosesTheIdle_FreesTheAddress) {
  Start();
  Peer idle(path());
  idle.Send(Get("/"));
  idle.ReadUntil("? 0");
  Peer busy(path());
  busy.Send(Get("/wait"));
  echo_.entered.wait(false);
  // The idle client has its answer before the server has done with its request.
  WaitUntil("one request is left", [this] { return server_->active_requests() == 1; });

  server_->StopAccepting();
  EXPECT_EQ(idle.ReadAll(), "");
  EXPECT_FALSE(Peer(path()).connected());
  Server next(io_.get_executor(), echo_, ServerLimits{});
  ListenAddress address;
  address.path = path();
  ASSERT_TRUE(next.Listen(address).ok());

  echo_.released = true;
  EXPECT_THAT(busy.ReadAll(), AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("Connection: close")));
  WaitUntil("it is answered", [this] { return server_->active_requests() == 0; });
}

TEST_F(ServerTest, Listen_Taken_IsRefused) {
  Start();
  Server other(io_.get_executor(), echo_, ServerLimits{});
  ListenAddress address;
  address.path = path();
  const auto bound = other.Listen(address);
  ASSERT_FALSE(bound.ok());
  EXPECT_EQ(bound.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_TRUE(Peer(path()).connected());
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
