// Question: how long does each of a thousand clients wait who miss one key at once? Their program:
//
//   crowd PORT CLIENTS SECONDS LOOKUP COMPILE COMPILE_WITH_GRAPH      (the last three: files)
//
// All connect first; spread over SECONDS, each asks /v1/lookup, where that misses /v1/compile, and
// again with the graph where the daemon asks for it. Prints for each client the moments of its
// first request and of its last byte, in seconds since 1970, and 1 if it got an artifact. One
// thread, and no memory that is first touched when an answer comes: clients are on hosts of their
// own, and what this program takes of the processors the daemon does not have.
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "protocol/wire/framing.h"
#include "protocol/wire/messages.h"

namespace stoker {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using Errors = boost::system::error_code;

constexpr std::size_t kReadBytes = 64 << 10;
constexpr std::size_t kAnswerBytes = 64 << 10;  // More has its place made when it comes.

struct Bodies {
  std::string lookup;
  std::string compile;
  std::string compile_with_graph;
};

std::string ContentOf(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

double Now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Whether a stream of compile events ends with an artifact.
bool EndsWithBundle(std::string_view body) {
  wire::FrameReader frames;
  frames.Feed(body);
  std::string last;
  while (true) {
    auto next = frames.Next();
    if (!next.ok()) return false;
    if (!*next) break;
    last = *std::move(*next);
  }
  const auto event = wire::DecodeCompileEvent(last);
  return event.ok() && std::holds_alternative<wire::Bundle>(*event);
}

using Parser = http::response_parser<http::string_body>;

std::unique_ptr<Parser> MakeParser() {
  auto parser = std::make_unique<Parser>();
  parser->body_limit(wire::kMaxMessageBytes);
  return parser;
}

class Visitor {
 public:
  Visitor(asio::io_context& context, const Bodies& bodies)
      : socket_(context), timer_(context), bodies_(bodies), answer_parser_(MakeParser()) {
    // Beast reads what is reserved, at least 512 bytes.
    std::memset(buffer_.prepare(kReadBytes).data(), 0, kReadBytes);
    answer_parser_->get().body().assign(kAnswerBytes, '\0');
    answer_parser_->get().body().clear();
  }

  void Connect(std::uint16_t port) {
    socket_.connect({asio::ip::address_v4::loopback(), port});
    socket_.set_option(asio::ip::tcp::no_delay(true));
  }

  void StartAfter(std::chrono::microseconds delay) {
    timer_.expires_after(delay);
    timer_.async_wait([this](Errors) {
      asked_s_ = Now();
      Post("/v1/lookup", bodies_.lookup, MakeParser(), [this] { HaveLookedUp(); });
    });
  }

  // Looks at what came only now: it would take the daemon's processors.
  void Print() const {
    const bool served = served_ && (!compiled_ || EndsWithBundle(parser_->get().body()));
    std::printf("%.6f %.6f %d\n", asked_s_, ended_s_, served ? 1 : 0);
  }

 private:
  using Then = std::function<void()>;

  void Post(const char* path, const std::string& body, std::unique_ptr<Parser> parser, Then then) {
    parser_ = std::move(parser);
    request_ = {http::verb::post, path, 11, body};
    request_.set(http::field::host, "127.0.0.1");
    request_.set(http::field::content_type, "application/x-protobuf");
    request_.prepare_payload();
    http::async_write(socket_, request_, [this, then = std::move(then)](Errors error, std::size_t) {
      if (error) return End(false);
      http::async_read(socket_, buffer_, *parser_,
                       [this, then](Errors failed, std::size_t) { failed ? End(false) : then(); });
    });
  }

  void HaveLookedUp() {
    if (status() != http::status::not_found) return End(status() == http::status::ok);
    Post("/v1/compile", bodies_.compile, std::move(answer_parser_), [this] {
      // The field that the error names (WIRE.md).
      const bool wants_graph =
          status() != http::status::ok &&
          parser_->get().body().find("compile.graph_digest") != std::string::npos;
      if (!wants_graph) return HaveCompiled();
      Post("/v1/compile", bodies_.compile_with_graph, MakeParser(), [this] { HaveCompiled(); });
    });
  }

  void HaveCompiled() {
    End(status() == http::status::ok);
    compiled_ = true;
  }

  void End(bool served) {
    ended_s_ = Now();
    served_ = served;
  }

  http::status status() const { return parser_->get().result(); }

  asio::ip::tcp::socket socket_;
  asio::steady_timer timer_;
  const Bodies& bodies_;
  http::request<http::string_body> request_;
  boost::beast::flat_buffer buffer_;
  std::unique_ptr<Parser> parser_;
  std::unique_ptr<Parser> answer_parser_;  // That of the artifact, as a rule.
  double asked_s_ = 0;
  double ended_s_ = 0;
  bool served_ = false;
  bool compiled_ = false;
};

int Run(char** arguments) {
  const auto port = static_cast<std::uint16_t>(std::atoi(arguments[1]));
  const int clients = std::atoi(arguments[2]);
  const std::chrono::duration<double> within(std::atof(arguments[3]));
  const Bodies bodies{ContentOf(arguments[4]), ContentOf(arguments[5]), ContentOf(arguments[6])};
  asio::io_context context(1);
  std::vector<std::unique_ptr<Visitor>> visitors;
  for (int i = 0; i < clients; ++i) {
    visitors.push_back(std::make_unique<Visitor>(context, bodies));
    visitors.back()->Connect(port);
  }
  for (int i = 0; i < clients; ++i) {
    visitors[static_cast<std::size_t>(i)]->StartAfter(
        std::chrono::duration_cast<std::chrono::microseconds>(within * i / clients));
  }
  context.run();
  for (const auto& visitor : visitors) visitor->Print();
  return 0;
}

}  // namespace
}  // namespace stoker

int main(int argc, char** argv) {
  if (argc != 7) {
    std::fprintf(stderr, "usage: crowd PORT CLIENTS SECONDS LOOKUP COMPILE COMPILE_WITH_GRAPH\n");
    return 2;
  }
  try {
    return stoker::Run(argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "crowd: %s\n", error.what());
    return 1;
  }
}
