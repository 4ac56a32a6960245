#include "client/core/http_connection.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <random>
#include <utility>

#include "client/core/job_name.h"
#include "client/core/progress_deadline.h"
#include "client/core/transport.h"
#include "protocol/wire/job_name.h"

namespace stoker {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using Clock = Transport::Clock;
using Parser = http::response_parser<http::buffer_body>;

constexpr std::size_t kPieceBytes = 256 << 10;
constexpr std::size_t kReadBytes = 64 << 10;
// Of what frames a body, between two pieces of it.
constexpr std::size_t kMaxFramingBytes = 64 << 10;
// A small body goes out with its header.
constexpr std::size_t kJoinedBytes = 16 << 10;

// Of one call, by which it is found in the daemon's log. A forked process makes ids of its own.
std::string MakeRequestId() {
  static const unsigned start = std::random_device()();
  static std::atomic<std::uint64_t> count{0};
  std::array<char, 64> id;
  const int size =
      std::snprintf(id.data(), id.size(), "%08x-%d-%llu", start, static_cast<int>(getpid()),
                    static_cast<unsigned long long>(count.fetch_add(1) + 1));
  return {id.data(), static_cast<std::size_t>(size)};
}

// What is done with an answer with status 200 or 206.
struct Taker {
  // Once. An error ends the call and the connection.
  std::function<Status(const Parser&)> on_header = [](const Parser&) { return Ok(); };
  HttpConnection::OnData on_data;  // With each piece of the body.
};

struct Asked {
  std::string_view method;
  std::string_view path;
  std::string_view body;
  std::size_t offset = 0;  // Content before it is not sent.
};

// The header of a request.
Result<std::string> HeadOf(const Asked& asked, const std::string& host,
                           const std::string& authorization, const std::string& id,
                           const std::string& job) {
  const std::string_view path = asked.path;
  const bool is_path = path.starts_with('/') && std::all_of(path.begin(), path.end(), [](char c) {
                         return c > ' ' && c < 0x7F;
                       });
  if (!is_path) return InvalidArgument("'" + std::string(path) + "' is no path of a URL.");
  std::string head;
  head.append(asked.method).append(" ").append(path).append(" HTTP/1.1\r\nHost: ").append(host);
  head.append("\r\nContent-Type: application/x-protobuf\r\n");
  head.append("X-Request-Id: ").append(id).append("\r\n");
  head.append(wire::kJobHeader).append(": ").append(job).append("\r\n");
  if (!authorization.empty()) head.append("Authorization: ").append(authorization).append("\r\n");
  if (asked.offset > 0) {
    head.append("Range: bytes=").append(std::to_string(asked.offset)).append("-\r\n");
  }
  if (asked.method != "GET" || !asked.body.empty()) {
    head.append("Content-Length: ").append(std::to_string(asked.body.size())).append("\r\n");
  }
  return head.append("\r\n");
}

// What follows the name of a call, as each DeadlineExceeded in this file does.
Error TooLate(std::string_view what, std::chrono::milliseconds patience) {
  return DeadlineExceeded(std::string(what) + " within " + std::to_string(patience.count()) +
                          " ms.");
}

Error TooSlow(std::string_view what, const ProgressDeadline& deadline) {
  return TooLate(
      std::string(what) + " fewer than " + std::to_string(deadline.least_bytes()) + " more bytes",
      deadline.window());
}

bool IsInterim(const Parser& parser) { return parser.get().result_int() / 100 == 1; }

}  // namespace

struct HttpConnection::State {
  std::unique_ptr<Transport> transport;
  boost::beast::flat_buffer buffer;  // What has come and is not used up.
  std::string host;
  std::string url;
  std::string authorization;  // Empty: none.
  const std::string job = JobName();
  const pid_t owner = getpid();
  bool is_whole = true;  // Nothing is left of what was asked and answered.
  DaemonTrust trust;
  int socket = -1;  // The transport's.
  // Of plain TCP not known before the first answer: who has answered has accepted.
  std::optional<bool> is_authenticated;

  Status Send(std::string_view head, std::string_view body, Patience patience);
  // Gives the parser what has come, and waits for more where that is too little.
  Status Parse(Parser& parser, Clock::time_point moment);
  // Up to the end of the final answer's header.
  Status ReadHead(std::optional<Parser>& parser, Clock::time_point moment);
  Status ReadBody(Parser& parser, Clock::time_point begin, Patience patience, const Taker* taker,
                  std::string* body);
  Result<HttpResponse> Exchange(std::string_view head, std::string_view body, Patience patience,
                                const Taker* taker);
  // With the connection's fate and the errors' context.
  Result<HttpResponse> Run(const Asked& asked, Patience patience, const Taker* taker);
};

Status HttpConnection::State::Send(std::string_view head, std::string_view body,
                                   Patience patience) {
  std::string first(head);
  if (body.size() <= kJoinedBytes) first.append(std::exchange(body, {}));
  ProgressDeadline deadline(patience);
  for (std::string_view rest : {std::string_view(first), body}) {
    while (!rest.empty()) {
      const auto written = transport->Write(rest, deadline.moment());
      if (!written.ok() && written.error().code == ErrorCode::kDeadlineExceeded) {
        return TooSlow("sends", deadline);
      }
      if (!written.ok()) return written.error();
      rest.remove_prefix(*written);
      deadline.Moved(*written);
    }
  }
  return Ok();
}

Status HttpConnection::State::Parse(Parser& parser, Clock::time_point moment) {
  error_code code = http::error::need_more;
  // Of a chunked body so much is always to come, and Beast's parser (Boost 1.81) must not be given
  // less.
  constexpr std::size_t kLeastOfAChunkedBody = 5;
  const bool in_chunks = parser.is_header_done() && parser.chunked();
  if (buffer.size() >= (in_chunks ? kLeastOfAChunkedBody : 1)) {
    buffer.consume(parser.put(buffer.data(), code));
    if (code == http::error::body_limit) {
      return ResourceExhausted("The answer has more than " + std::to_string(kMaxBodyBytes) +
                               " bytes.");
    }
    if (code == http::error::need_more && buffer.size() > kMaxFramingBytes) {
      return Unavailable("The answer has more than " + std::to_string(kMaxFramingBytes) +
                         " bytes around its body.");
    }
    if (code && code != http::error::need_more && code != http::error::need_buffer) {
      return Unavailable(code.message() + ".");
    }
  }
  if (code != http::error::need_more) return Ok();
  const auto room = buffer.prepare(kReadBytes);
  STOKER_TRY(const std::size_t bytes,
             transport->Read({static_cast<char*>(room.data()), room.size()}, moment));
  buffer.commit(bytes);
  if (bytes > 0) return Ok();
  if (!parser.is_header_done() || !parser.need_eof()) {
    return Unavailable("The daemon closed the connection.");
  }
  parser.put_eof(code);
  return code ? Status(Unavailable(code.message() + ".")) : Ok();
}

Status HttpConnection::State::ReadHead(std::optional<Parser>& parser, Clock::time_point moment) {
  for (int interim = 0; interim <= kMaxInterimAnswers; ++interim) {
    parser.emplace();
    parser->body_limit(kMaxBodyBytes);
    while (!parser->is_header_done()) {
      STOKER_RETURN_IF_ERROR(Parse(*parser, moment));
    }
    if (!IsInterim(*parser)) return Ok();
    if (parser->get().result() == http::status::switching_protocols) {
      return Unavailable("The answer changes to another protocol, which nobody has asked for.");
    }
  }
  return Unavailable("More than " + std::to_string(kMaxInterimAnswers) +
                     " answers come before the final one.");
}

Status HttpConnection::State::ReadBody(Parser& parser, Clock::time_point begin, Patience patience,
                                       const Taker* taker, std::string* body) {
  const int status = static_cast<int>(parser.get().result_int());
  const bool hand_on = taker != nullptr && (status == 200 || status == 206);
  if (hand_on) STOKER_RETURN_IF_ERROR(taker->on_header(parser));
  std::string piece(
      std::min<std::uint64_t>(kPieceBytes, parser.content_length().value_or(kPieceBytes)), '\0');
  ProgressDeadline deadline(patience);
  bool has_begun = false;
  while (!parser.is_done()) {
    const Clock::time_point moment = has_begun ? deadline.moment() : begin + patience;
    parser.get().body().data = piece.data();
    parser.get().body().size = piece.size();
    const Status parsed = Parse(parser, moment);
    if (!parsed.ok() && parsed.error().code == ErrorCode::kDeadlineExceeded) {
      return !has_begun ? TooLate("is answered by a header and nothing of its body", patience)
                        : TooSlow("is answered by", deadline);
    }
    if (!parsed.ok()) return parsed.error();
    const std::string_view data(piece.data(), piece.size() - parser.get().body().size);
    if (data.empty()) continue;
    bool is_news = !std::exchange(has_begun, true);
    if (!hand_on) {
      body->append(data);
    } else {
      STOKER_TRY(const bool is_message, taker->on_data(data));
      is_news |= is_message;
    }
    deadline.Moved(data.size());
    if (is_news) deadline.Renew();
    // What is always there to be read, but brings next to nothing, is never waited for.
    if (!parser.is_done() && Clock::now() > deadline.moment()) {
      return TooSlow("is answered by", deadline);
    }
  }
  return Ok();
}

Result<HttpResponse> HttpConnection::State::Exchange(std::string_view head, std::string_view body,
                                                     Patience patience, const Taker* taker) {
  STOKER_RETURN_IF_ERROR(Send(head, body, patience));
  const Clock::time_point begin = Clock::now();
  std::optional<Parser> parser;
  const Status read = ReadHead(parser, begin + patience);
  if (!read.ok() && read.error().code == ErrorCode::kDeadlineExceeded) {
    return TooLate("is not answered", patience);
  }
  if (!read.ok()) return read.error();

  HttpResponse response;
  const auto& header = parser->get();
  response.status = static_cast<int>(header.result_int());
  response.retry_after_s = std::atoi(std::string(header[http::field::retry_after]).c_str());
  if (!is_authenticated) {
    is_authenticated = IsServedByTrusted(socket, trust);
  }
  response.is_authenticated = *is_authenticated;
  STOKER_RETURN_IF_ERROR(ReadBody(*parser, begin, patience, taker, &response.body));
  is_whole = header.keep_alive() && buffer.size() == 0;
  return response;
}

Result<HttpResponse> HttpConnection::State::Run(const Asked& asked, Patience patience,
                                                const Taker* taker) {
  if (!is_whole) return Unavailable("The connection to " + url + " is broken.");
  try {
    const std::string id = MakeRequestId();
    STOKER_TRY(const std::string head, HeadOf(asked, host, authorization, id, job));
    is_whole = false;
    auto response = Exchange(head, asked.body, patience, taker);
    if (response.ok()) {
      response->request_id = id;
      return response;
    }
    // Refusals name the URL by themselves.
    const Error& error = response.error();
    if (error.code == ErrorCode::kFailedPrecondition) return error;
    const std::string what = std::string(asked.method) + " " + std::string(asked.path) + " on " +
                             url + " (request " + id + ")";
    if (error.code == ErrorCode::kDeadlineExceeded) {
      return DeadlineExceeded(what + " " + error.message);
    }
    return error.WithContext(what);
  } catch (const std::exception& e) {
    is_whole = false;
    return Unavailable(std::string(asked.path) + " on " + url + " fails: " + e.what());
  }
}

HttpConnection::HttpConnection(std::unique_ptr<State> state) : state_(std::move(state)) {}
HttpConnection::~HttpConnection() = default;

Result<std::unique_ptr<HttpConnection>> HttpConnection::Connect(const DaemonUrl& url,
                                                                std::chrono::milliseconds timeout,
                                                                const DaemonTrust& trust) {
  try {
    const Clock::time_point moment = Clock::now() + timeout;
    auto state = std::make_unique<State>();
    state->url = url.ToString();
    state->host = url.Authority();
    auto connected = ConnectSocket(url, moment);
    if (!connected.ok()) {
      return connected.error().WithContext("Nobody answers at " + state->url);
    }
    FileDescriptor socket = *std::move(connected);
    state->socket = socket.get();
    state->trust = trust;
    switch (url.scheme) {
      case DaemonUrl::Scheme::kUnix:
        STOKER_RETURN_IF_ERROR(CheckSocketServer(socket.get(), url.path, trust));
        state->is_authenticated = true;
        state->transport = PlainTransport(std::move(socket));
        break;
      case DaemonUrl::Scheme::kHttp:
        if (!trust.token.empty()) {
          STOKER_RETURN_IF_ERROR(CheckTokenStaysHere(socket.get(), state->url));
        }
        state->transport = PlainTransport(std::move(socket));
        break;
      case DaemonUrl::Scheme::kHttps: {
        auto transport = TlsTransport(std::move(socket), url, trust.tls, moment);
        if (!transport.ok() && transport.error().code == ErrorCode::kDeadlineExceeded) {
          return Unavailable("Nobody answers at " + state->url + ": no TLS handshake within " +
                             std::to_string(timeout.count()) + " ms.");
        }
        if (!transport.ok()) return transport.error();
        state->is_authenticated = true;  // By its certificate.
        state->transport = *std::move(transport);
        break;
      }
    }
    if (!trust.token.empty()) state->authorization = "Bearer " + trust.token;
    return std::unique_ptr<HttpConnection>(new HttpConnection(std::move(state)));
  } catch (const std::exception& e) {
    return Unavailable("Connecting to " + url.ToString() + " fails: " + e.what());
  }
}

Result<HttpResponse> HttpConnection::Call(std::string_view method, std::string_view path,
                                          std::string_view body, Patience patience) {
  return state_->Run({method, path, body}, patience, nullptr);
}

Result<HttpResponse> HttpConnection::Stream(std::string_view method, std::string_view path,
                                            std::string_view body, Patience patience,
                                            const OnData& on_data) {
  const Taker taker{.on_data = on_data};
  return state_->Run({method, path, body}, patience, &taker);
}

Result<HttpResponse> HttpConnection::Download(std::string_view path, Patience patience,
                                              PartialContent& content) {
  Taker taker;
  taker.on_header = [&](const Parser& parser) -> Status {
    const auto& header = parser.get();
    const std::string etag(header[http::field::etag]);
    if (header.result() == http::status::partial_content) {
      return content.GoOn(std::string(header[http::field::content_range]), etag);
    }
    const auto length = parser.content_length();
    content.BeginAnew(length ? std::optional<std::uint64_t>(*length) : std::nullopt, etag);
    return Ok();
  };
  taker.on_data = [&](std::string_view piece) -> Result<bool> {
    const std::uint64_t most = std::min(content.size.value_or(kMaxBodyBytes), kMaxBodyBytes);
    if (content.bytes.size() + piece.size() > most) {
      return ResourceExhausted("It has more than " + std::to_string(most) + " bytes.");
    }
    content.bytes.append(piece);
    return false;
  };
  auto response = state_->Run({"GET", path, "", content.bytes.size()}, patience, &taker);
  // An answer without a length has ended where the connection did, or its last chunk came.
  if (response.ok() && response->status == 200) content.size = content.bytes.size();
  return response;
}

bool HttpConnection::usable() const {
  return state_->is_whole && getpid() == state_->owner && state_->transport->IsQuiet();
}

}  // namespace stoker
