// Asynchronous operations on a private io_context, run to completion one at a time: blocking calls
// with deadlines, which Beast's own blocking calls do not have.
#include "client/core/http_connection.h"

#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <exception>
#include <optional>
#include <vector>

namespace stoker {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
using ByteStream = beast::basic_stream<asio::generic::stream_protocol>;

constexpr std::size_t kPieceBytes = 256 << 10;
// What one read may take: Beast reads as much as the buffer has room for.
constexpr std::size_t kReadBytes = 64 << 10;

Error ErrorOf(error_code code, const std::string& what) {
  const std::string message = what + ": " + code.message() + ".";
  if (code == beast::error::timeout) return DeadlineExceeded(message);
  if (code == http::error::body_limit) return ResourceExhausted(message);
  return Unavailable(message);
}

using Endpoint = asio::generic::stream_protocol::endpoint;

// All addresses of the host: "localhost" is ::1 first on some, where nobody may listen.
Result<std::vector<Endpoint>> Resolve(asio::io_context& io, const DaemonUrl& url) {
  if (url.scheme == DaemonUrl::Scheme::kUnix) {
    return std::vector{Endpoint(asio::local::stream_protocol::endpoint(url.path))};
  }
  asio::ip::tcp::resolver resolver(io);
  error_code code;
  const auto results = resolver.resolve(url.host, std::to_string(url.port), code);
  if (code || results.empty()) return ErrorOf(code, "Host '" + url.host + "' does not resolve");
  std::vector<Endpoint> endpoints;
  for (const auto& found : results) endpoints.emplace_back(found.endpoint());
  return endpoints;
}

}  // namespace

struct HttpConnection::State {
  asio::io_context io{1};
  ByteStream stream{io};
  beast::flat_buffer buffer;
  std::string host;
  std::string url;
  std::string authorization;  // Empty: none.
  bool usable = false;
  DaemonTrust trust;
  // Of plain TCP not known before the first answer: who has answered has accepted.
  std::optional<bool> is_authenticated;

  // Runs one asynchronous operation to its end.
  template <typename Start>
  error_code Await(std::chrono::milliseconds timeout, const Start& start) {
    error_code result;
    stream.expires_after(timeout);
    start([&result](error_code code, auto&&...) { result = code; });
    io.restart();
    io.run();
    if (result && result != http::error::need_buffer) usable = false;
    return result;
  }

  Result<HttpResponse> Exchange(std::string_view method, std::string_view path,
                                std::string_view body, std::chrono::milliseconds timeout,
                                const OnData* on_data);
};

Result<HttpResponse> HttpConnection::State::Exchange(std::string_view method, std::string_view path,
                                                     std::string_view body,
                                                     std::chrono::milliseconds timeout,
                                                     const OnData* on_data) {
  if (!usable) return Unavailable("The connection to " + url + " is broken.");
  const std::string what = std::string(method) + " " + std::string(path) + " on " + url;

  http::request<http::span_body<const char>> request;
  request.version(11);
  request.method_string({method.data(), method.size()});
  request.target({path.data(), path.size()});
  request.set(http::field::host, host);
  request.set(http::field::content_type, "application/x-protobuf");
  if (!authorization.empty()) request.set(http::field::authorization, authorization);
  request.body() = beast::span<const char>(body.data(), body.size());
  request.prepare_payload();
  if (const error_code code =
          Await(timeout, [&](auto done) { http::async_write(stream, request, std::move(done)); })) {
    return ErrorOf(code, what);
  }

  http::response_parser<http::buffer_body> parser;
  parser.body_limit(kMaxBodyBytes);
  if (const error_code code = Await(timeout, [&](auto done) {
        http::async_read_header(stream, buffer, parser, std::move(done));
      })) {
    return ErrorOf(code, what);
  }
  HttpResponse response;
  response.status = static_cast<int>(parser.get().result_int());
  response.retry_after_s = std::atoi(std::string(parser.get()[http::field::retry_after]).c_str());
  if (!is_authenticated) {
    is_authenticated = IsServedByTrusted(stream.socket().native_handle(), trust);
  }
  response.is_authenticated = *is_authenticated;
  const bool hand_on = on_data != nullptr && response.status == 200;

  std::string piece(kPieceBytes, '\0');
  while (!parser.is_done()) {
    parser.get().body().data = piece.data();
    parser.get().body().size = piece.size();
    const error_code code = Await(timeout, [&](auto done) {
      http::async_read_some(stream, buffer, parser, std::move(done));
    });
    if (code && code != http::error::need_buffer) return ErrorOf(code, what);
    const std::string_view data(piece.data(), piece.size() - parser.get().body().size);
    if (!hand_on) {
      response.body.append(data);
    } else if (!data.empty()) {
      if (Status status = (*on_data)(data); !status.ok()) {
        usable = false;
        return status.error();
      }
    }
  }
  if (!parser.get().keep_alive()) usable = false;
  return response;
}

HttpConnection::HttpConnection(std::unique_ptr<State> state) : state_(std::move(state)) {}
HttpConnection::~HttpConnection() = default;

Result<std::unique_ptr<HttpConnection>> HttpConnection::Connect(const DaemonUrl& url,
                                                                std::chrono::milliseconds timeout,
                                                                const DaemonTrust& trust) {
  try {
    auto state = std::make_unique<State>();
    state->url = url.ToString();
    state->host = url.scheme == DaemonUrl::Scheme::kUnix ? "localhost" : url.host;
    STOKER_TRY(const auto endpoints, Resolve(state->io, url));
    if (const error_code code = state->Await(
            timeout, [&](auto done) { state->stream.async_connect(endpoints, std::move(done)); })) {
      return Unavailable("Nobody answers at " + state->url + ": " + code.message() + ".");
    }
    if (url.scheme == DaemonUrl::Scheme::kUnix) {
      STOKER_RETURN_IF_ERROR(
          CheckSocketServer(state->stream.socket().native_handle(), url.path, trust));
      state->is_authenticated = true;
    }
    state->trust = trust;
    if (!trust.token.empty() && url.scheme == DaemonUrl::Scheme::kHttp) {
      STOKER_RETURN_IF_ERROR(
          CheckTokenStaysHere(state->stream.socket().native_handle(), state->url));
    }
    if (!trust.token.empty()) state->authorization = "Bearer " + trust.token;
    state->buffer.reserve(kReadBytes);
    state->usable = true;
    return std::unique_ptr<HttpConnection>(new HttpConnection(std::move(state)));
  } catch (const std::exception& e) {
    return Unavailable("Connecting to " + url.ToString() + " fails: " + e.what());
  }
}

Result<HttpResponse> HttpConnection::Call(std::string_view method, std::string_view path,
                                          std::string_view body,
                                          std::chrono::milliseconds timeout) {
  try {
    return state_->Exchange(method, path, body, timeout, nullptr);
  } catch (const std::exception& e) {
    state_->usable = false;
    return Unavailable(std::string(path) + " on " + state_->url + " fails: " + e.what());
  }
}

Result<HttpResponse> HttpConnection::Stream(std::string_view method, std::string_view path,
                                            std::string_view body,
                                            std::chrono::milliseconds timeout,
                                            const OnData& on_data) {
  try {
    return state_->Exchange(method, path, body, timeout, &on_data);
  } catch (const std::exception& e) {
    state_->usable = false;
    return Unavailable(std::string(path) + " on " + state_->url + " fails: " + e.what());
  }
}

bool HttpConnection::usable() const { return state_->usable; }

}  // namespace stoker
