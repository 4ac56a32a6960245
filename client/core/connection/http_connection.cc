#include "client/core/connection/http_connection.h"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <cstdint>
#include <exception>
#include <optional>
#include <utility>

#include "client/core/connection/progress_deadline.h"
#include "client/core/connection/request_head.h"
#include "client/core/connection/transport.h"
#include "client/core/settings/job_name.h"
#include "protocol/wire/header/upload_fields.h"

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

// What is done with an answer with status 200 or 206.
struct Taker {
  // Once. An error ends the call and the connection.
  std::function<Status(const Parser&)> on_header = [](const Parser&) { return Ok(); };
  HttpConnection::OnData on_data;  // With each piece of the body.
};

// What the latest answer says of an upload.
struct UploadAnswer {
  std::string location;  // Empty: it is none that goes on elsewhere.
  std::optional<std::uint64_t> offset;
  bool is_complete = false;  // This is the answer to what was uploaded.
};

// The headers of one answer, of which the last is not interim.
struct AnswerHead {
  std::optional<Parser> parser;  // Of the latest.
  int interims = 0;

  bool IsFinal() const {
    return parser && parser->is_header_done() && parser->get().result_int() / 100 != 1;
  }
};

std::string FieldOf(const Parser& parser, std::string_view name) {
  const auto value = parser.get()[boost::beast::string_view(name.data(), name.size())];
  return {value.data(), value.size()};
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

}  // namespace

struct HttpConnection::State {
  std::unique_ptr<Transport> transport;
  boost::beast::flat_buffer buffer;  // What has come and is not used up.
  std::string url;
  Sender sender{.host = {}, .authorization = {}, .job = JobName()};
  const pid_t owner = getpid();
  bool is_whole = true;  // Nothing is left of what was asked and answered.
  UploadAnswer said;
  DaemonTrust trust;
  int socket = -1;  // The transport's.
  // Of plain TCP not known before the first answer: who has answered has accepted.
  std::optional<bool> is_authenticated;

  Status Send(std::string_view head, std::string_view body, Patience patience);
  // Gives the parser what has come, and waits for more where that is too little.
  Status Parse(Parser& parser, Clock::time_point moment);
  // The next header, or the rest of one that has begun. `is_bare`: no body follows.
  Status ReadHead(AnswerHead& answer, bool is_bare, Clock::time_point moment);
  // Until the body may be sent, or the final header is there.
  Status AwaitLeave(AnswerHead& answer, Patience patience);
  Status ReadBody(Parser& parser, Clock::time_point begin, Patience patience, const Taker* taker,
                  std::string* body);
  Result<HttpResponse> Exchange(std::string_view head, const Asked& asked, Patience patience,
                                const Taker* taker);
  // With the connection's fate and the errors' context.
  Result<HttpResponse> Run(const Asked& asked, Patience patience, const Taker* taker);
  // With what another connection has not sent. Nothing: the daemon does not have the rest.
  using MaybeResponse = std::optional<HttpResponse>;
  Result<MaybeResponse> RunRest(const Asked& asked, Patience patience, const Taker* taker,
                                PartialUpload& upload);
  // From its beginning, or from where another connection broke.
  Result<HttpResponse> RunUpload(Asked asked, Patience patience, const Taker* taker,
                                 PartialUpload& upload);
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

Status HttpConnection::State::ReadHead(AnswerHead& answer, bool is_bare, Clock::time_point moment) {
  std::optional<Parser>& parser = answer.parser;
  if (!parser || parser->is_header_done()) {
    parser.emplace();
    parser->body_limit(kMaxBodyBytes);
    parser->skip(is_bare);
  }
  while (!parser->is_header_done()) {
    STOKER_RETURN_IF_ERROR(Parse(*parser, moment));
  }
  if (answer.IsFinal()) return Ok();
  if (parser->get().result() == http::status::switching_protocols) {
    return Unavailable("The answer changes to another protocol, which nobody has asked for.");
  }
  if (++answer.interims > kMaxInterimAnswers) {
    return Unavailable("More than " + std::to_string(kMaxInterimAnswers) +
                       " answers come before the final one.");
  }
  return Ok();
}

Status HttpConnection::State::AwaitLeave(AnswerHead& answer, Patience patience) {
  constexpr unsigned kContinue = 100;
  constexpr unsigned kUploadResumptionSupported = 104;
  const Clock::time_point moment = Clock::now() + std::min<Patience>(patience, kLeavePatience);
  while (true) {
    const Status read = ReadHead(answer, false, moment);
    if (!read.ok() && read.error().code == ErrorCode::kDeadlineExceeded) return Ok();
    if (!read.ok() || answer.IsFinal()) return read;
    const unsigned status = answer.parser->get().result_int();
    if (status == kContinue) return Ok();
    if (status != kUploadResumptionSupported) continue;
    const auto version = wire::NumberOf(FieldOf(*answer.parser, wire::kUploadVersion));
    std::string location = FieldOf(*answer.parser, "Location");
    if (version == wire::kSpokenUploadVersion && IsPath(location)) {
      said.location = std::move(location);
    }
  }
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

Result<HttpResponse> HttpConnection::State::Exchange(std::string_view head, const Asked& asked,
                                                     Patience patience, const Taker* taker) {
  AnswerHead answer;
  if (IsLong(asked.body)) {
    STOKER_RETURN_IF_ERROR(Send(head, "", patience));
    STOKER_RETURN_IF_ERROR(AwaitLeave(answer, patience));
    head = "";
  }
  const bool is_refused = answer.IsFinal();
  if (!is_refused) STOKER_RETURN_IF_ERROR(Send(head, asked.body, patience));
  const Clock::time_point begin = Clock::now();
  while (!answer.IsFinal()) {
    const Status read = ReadHead(answer, asked.method == "HEAD", begin + patience);
    if (!read.ok() && read.error().code == ErrorCode::kDeadlineExceeded) {
      return TooLate("is not answered", patience);
    }
    if (!read.ok()) return read.error();
  }

  HttpResponse response;
  Parser& parser = *answer.parser;
  const auto& header = parser.get();
  said.offset = wire::NumberOf(FieldOf(parser, wire::kUploadOffset));
  said.is_complete = wire::BooleanOf(FieldOf(parser, wire::kUploadComplete)) == true;
  response.status = static_cast<int>(header.result_int());
  response.retry_after_s = std::atoi(std::string(header[http::field::retry_after]).c_str());
  if (!is_authenticated) {
    is_authenticated = IsServedByTrusted(socket, trust);
  }
  response.is_authenticated = *is_authenticated;
  STOKER_RETURN_IF_ERROR(ReadBody(parser, begin, patience, taker, &response.body));
  is_whole = header.keep_alive() && buffer.size() == 0 && !is_refused;
  return response;
}

Result<HttpResponse> HttpConnection::State::Run(const Asked& asked, Patience patience,
                                                const Taker* taker) {
  if (!is_whole) return Unavailable("The connection to " + url + " is broken.");
  try {
    const std::string id = MakeRequestId();
    STOKER_TRY(const std::string head, HeadOf(asked, sender, id));
    is_whole = false;
    said = {};
    auto response = Exchange(head, asked, patience, taker);
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

Result<HttpConnection::State::MaybeResponse> HttpConnection::State::RunRest(const Asked& asked,
                                                                            Patience patience,
                                                                            const Taker* taker,
                                                                            PartialUpload& upload) {
  constexpr int kNotFound = 404;
  constexpr int kConflict = 409;
  const Asked where{
      .method = "HEAD", .path = upload.location, .body = "", .fields = UploadVersionField()};
  STOKER_TRY(const HttpResponse found, Run(where, patience, nullptr));
  if (found.status / 100 == 5) {
    return Unavailable(upload.location + " answers HTTP " + std::to_string(found.status) + ".");
  }
  const std::uint64_t offset = said.offset.value_or(asked.body.size());
  if (found.status / 100 != 2 || offset >= asked.body.size()) return MaybeResponse();
  upload.offset = offset;
  const Asked rest{.method = "PATCH",
                   .path = upload.location,
                   .body = asked.body.substr(offset),
                   .content_type = wire::kPartialUploadType,
                   .fields = UploadFields(offset)};
  STOKER_TRY(HttpResponse response, Run(rest, patience, taker));
  if (!said.is_complete && response.status == kNotFound) return MaybeResponse();
  if (!said.is_complete && response.status == kConflict) {
    return Unavailable(upload.location + " is no longer at byte " + std::to_string(offset) + ".");
  }
  return MaybeResponse(std::move(response));
}

Result<HttpResponse> HttpConnection::State::RunUpload(Asked asked, Patience patience,
                                                      const Taker* taker, PartialUpload& upload) {
  if (!upload.location.empty()) {
    STOKER_TRY(auto response, RunRest(asked, patience, taker, upload));
    if (response) {
      upload = {};
      return *std::move(response);
    }
  }
  if (IsLong(asked.body)) asked.fields = UploadFields();
  auto response = Run(asked, patience, taker);
  upload = {};
  if (!response.ok()) upload.location = said.location;
  return response;
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
    state->sender.host = url.Authority();
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
    if (!trust.token.empty()) state->sender.authorization = "Bearer " + trust.token;
    return std::unique_ptr<HttpConnection>(new HttpConnection(std::move(state)));
  } catch (const std::exception& e) {
    return Unavailable("Connecting to " + url.ToString() + " fails: " + e.what());
  }
}

Result<HttpResponse> HttpConnection::Call(std::string_view method, std::string_view path,
                                          std::string_view body, Patience patience,
                                          PartialUpload* upload) {
  PartialUpload none;
  return state_->RunUpload({method, path, body}, patience, nullptr, upload ? *upload : none);
}

Result<HttpResponse> HttpConnection::Stream(std::string_view method, std::string_view path,
                                            std::string_view body, Patience patience,
                                            const OnData& on_data, PartialUpload* upload) {
  const Taker taker{.on_data = on_data};
  PartialUpload none;
  return state_->RunUpload({method, path, body}, patience, &taker, upload ? *upload : none);
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
