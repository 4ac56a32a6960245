#include "daemon/net/http/request_reader.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstring>
#include <limits>

#include "daemon/net/http/reply_text.h"
#include "protocol/wire/header/job_name.h"
#include "protocol/wire/header/upload_fields.h"

namespace stoker::net {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;

constexpr std::size_t kFirstBufferBytes = 4096;
// Memory for a body is taken before it comes, in steps: what a peer announces costs it nothing.
constexpr std::size_t kBodyStepBytes = std::size_t{1} << 20;
constexpr int kBodyRetryAfterSeconds = 1;
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
// "0\r\n\r\n": as long as a chunked body has not ended, so much of it is to come at least. Beast's
// parser (Boost 1.81) must not be given less.
constexpr std::size_t kLeastOfAChunkedBody = 5;
constexpr std::string_view kHeaderEnd = "\r\n\r\n";

HttpReply TooLongBody(std::size_t max_bytes) {
  return ErrorReplyFor(413, ResourceExhausted("The body exceeds the limit of " +
                                              std::to_string(max_bytes) + " bytes."));
}

HttpReply NoRoomForBody(const ServerLimits& limits) {
  return ErrorReplyFor(503,
                       Unavailable("The bodies of the requests under way exceed the limit of " +
                                   std::to_string(limits.max_bodies_bytes) + " bytes."),
                       kBodyRetryAfterSeconds);
}

// Takes room for more of a body of `bytes`, of which `have` have come. False: there is none.
bool Grow(std::uint64_t bytes, std::size_t have, Room& room, std::string* body) {
  const std::size_t step = std::min<std::uint64_t>(bytes - have, std::max(have, kBodyStepBytes));
  if (!room.Take(step)) return false;
  body->resize(have + step);
  return true;
}

ReadOutcome RefusalOf(const error_code& code, const ServerLimits& limits) {
  if (code == http::error::header_limit || code == http::error::buffer_overflow) {
    return ErrorReplyFor(431,
                         ResourceExhausted("The header exceeds the limit of " +
                                           std::to_string(limits.max_header_bytes) + " bytes."));
  }
  return ErrorReplyFor(400, InvalidArgument("This is no HTTP request: " + code.message() + "."));
}

}  // namespace

class RequestReader::Parsing {
 public:
  Parsing() {
    // The reader limits headers. Beast's own limit falls on other bytes where a header comes in
    // pieces: then on all of it, otherwise on what follows its first line.
    parser_.header_limit(std::numeric_limits<std::uint32_t>::max());
    parser_.body_limit(boost::none);  // Until it is known who asks.
  }

  void LimitBody(std::size_t max_bytes) { parser_.body_limit(max_bytes); }

  // How much of `bytes` was used up. The code is need_more where they end before what is parsed.
  std::size_t Put(std::span<const char> bytes, error_code* code) {
    return parser_.put(asio::const_buffer(bytes.data(), bytes.size()), *code);
  }
  bool header_done() const { return parser_.is_header_done(); }
  bool done() const { return parser_.is_done(); }
  // What others might take for another request than we do (RFC 9112, 3.2 and 6.3).
  std::optional<HttpReply> WrongFraming() const {
    const auto& message = parser_.get();
    const auto encoding = message.find(http::field::transfer_encoding);
    if (encoding != message.end() &&
        (message.version() < 11 || message.count(http::field::transfer_encoding) > 1 ||
         !beast::iequals(encoding->value(), "chunked"))) {
      return ErrorReplyFor(message.version() < 11 ? 400 : 501,
                           InvalidArgument("Header 'Transfer-Encoding' is none that is read here: "
                                           "chunked, alone, and in HTTP/1.1."));
    }
    const std::size_t hosts = message.count(http::field::host);
    if (hosts > 1 || (hosts == 0 && message.version() >= 11)) {
      return ErrorReplyFor(400, InvalidArgument("Header 'Host' comes " + std::to_string(hosts) +
                                                " times; once is expected."));
    }
    if (message.count(http::field::authorization) > 1) {
      return ErrorReplyFor(400, InvalidArgument("Header 'Authorization' comes more than once."));
    }
    return std::nullopt;
  }
  std::size_t body_bytes() const { return parser_.get().body().size(); }
  std::string TakeBody() { return std::move(parser_.get().body()); }

  // Without the body.
  Incoming Take() const {
    const auto& message = parser_.get();
    const auto text_of = [&](http::field field) {
      const auto value = message[field];
      return std::string(value.data(), value.size());
    };
    Incoming incoming;
    incoming.keep_alive = parser_.keep_alive();
    incoming.is_http_1_0 = message.version() < 11;
    incoming.announced_bytes = parser_.content_length().value_or(0);
    incoming.is_chunked = parser_.chunked();
    incoming.expects_100 = beast::iequals(message[http::field::expect], "100-continue");
    if (incoming.announced_bytes > 0 || message.method() == http::verb::patch) {
      incoming.upload = Upload();
    }
    // What is stored has no validators: a condition on one does not hold (RFC 9110, 13.1.5).
    if (message.method() == http::verb::get && message.count(http::field::if_range) == 0) {
      incoming.range = text_of(http::field::range);
    }
    HttpRequest& request = incoming.request;
    request.method = std::string(message.method_string());
    const auto target = message.target();
    const std::string_view whole(target.data(), target.size());
    const std::size_t question = whole.find('?');
    request.path = whole.substr(0, question);
    if (question != std::string_view::npos) request.query = whole.substr(question + 1);
    if (message.count(http::field::authorization) > 0) {
      request.authorization = text_of(http::field::authorization);
    }
    const auto id = message["X-Request-Id"];
    request.id.assign(id.data(), id.size());
    const auto job = message[beast::string_view(wire::kJobHeader.data(), wire::kJobHeader.size())];
    request.job.assign(job.data(), job.size());
    request.host = text_of(http::field::host);
    if (message.find(http::field::origin) != message.end()) {
      request.origin = text_of(http::field::origin);
    }
    return incoming;
  }

 private:
  UploadFields Upload() const {
    const auto& message = parser_.get();
    // A field that comes twice is a list, and no item.
    const auto field = [&](std::string_view name) -> std::string_view {
      const boost::beast::string_view key(name.data(), name.size());
      if (message.count(key) != 1) return {};
      const auto value = message[key];
      return {value.data(), value.size()};
    };
    const auto type = message[http::field::content_type];
    const beast::string_view part_type(wire::kPartialUploadType.data(),
                                       wire::kPartialUploadType.size());
    return {
        .is_understood = wire::NumberOf(field(wire::kUploadVersion)) == wire::kSpokenUploadVersion,
        .is_part = beast::iequals(type, part_type),
        .complete = wire::BooleanOf(field(wire::kUploadComplete)),
        .offset = wire::NumberOf(field(wire::kUploadOffset)),
        .length = wire::NumberOf(field(wire::kUploadLength))};
  }

  http::request_parser<http::string_body> parser_;
};

RequestReader::RequestReader(TimedStream& stream, const ServerLimits& limits)
    : stream_(stream), limits_(limits) {}
RequestReader::~RequestReader() = default;

asio::awaitable<bool> RequestReader::Fill(TimedStream::Clock::time_point deadline) {
  if (begin_ == end_) begin_ = end_ = 0;
  if (end_ == buffer_.size()) {
    if (begin_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    } else {
      buffer_.resize(std::max(kFirstBufferBytes, 2 * buffer_.size()));
    }
  }
  const IoResult read = co_await stream_.ReadBy(std::span(buffer_).subspan(end_), deadline);
  if (read.code) co_return false;
  end_ += read.bytes;
  co_return true;
}

asio::awaitable<bool> RequestReader::Wait() {
  if (begin_ != end_) co_return true;
  // What a long request has made it grow is not kept for an idle connection.
  if (buffer_.size() > kFirstBufferBytes) std::vector<char>(kFirstBufferBytes).swap(buffer_);
  co_return co_await Fill(TimedStream::Clock::now() + limits_.idle_timeout);
}

asio::awaitable<std::optional<ReadOutcome>> RequestReader::ReadHeader(Parsing& parsing) {
  const auto deadline = TimedStream::Clock::now() + limits_.header_timeout;
  std::size_t parsed = 0;
  std::size_t searched = 0;  // Of what has come and is not parsed.
  while (true) {
    error_code code;
    const std::size_t used =
        parsing.Put(std::span<const char>(buffer_).subspan(begin_, end_ - begin_), &code);
    begin_ += used;
    parsed += used;
    if (code && code != http::error::need_more) co_return RefusalOf(code, limits_);
    // What lies beyond a whole header is not its own.
    const std::size_t header = parsing.header_done() ? parsed : parsed + (end_ - begin_);
    if (header > limits_.max_header_bytes) co_return RefusalOf(http::error::header_limit, limits_);
    if (parsing.header_done()) co_return std::nullopt;
    // Beast's parser (Boost 1.81) waits for all of a version, also behind the header's end.
    if (used > 0) searched = 0;
    const std::string_view rest(buffer_.data() + begin_, end_ - begin_);
    if (rest.find(kHeaderEnd, searched) != std::string_view::npos) {
      co_return RefusalOf(http::error::bad_version, limits_);
    }
    searched = rest.size() - std::min(rest.size(), kHeaderEnd.size() - 1);
    if (!co_await Fill(deadline)) co_return Closed{};
  }
}

asio::awaitable<std::optional<ReadOutcome>> RequestReader::ReadSized(std::uint64_t bytes,
                                                                     Room& room,
                                                                     Incoming* incoming) {
  std::string& body = incoming->request.body;
  std::size_t& have = incoming->have;
  const std::size_t before = have;
  while (have < bytes) {
    if (have == body.size() && !Grow(bytes, have, room, &body)) co_return NoRoomForBody(limits_);
    const std::span<char> rest(body.data() + have, body.size() - have);
    if (begin_ != end_) {
      const std::size_t n = std::min(rest.size(), end_ - begin_);
      std::memcpy(rest.data(), buffer_.data() + begin_, n);
      begin_ += n;
      have += n;
      continue;
    }
    const IoResult read = co_await stream_.ReadBy(rest, BodyDeadline(have - before));
    if (read.code) co_return Closed{};
    have += read.bytes;
  }
  co_return std::nullopt;
}

asio::awaitable<std::optional<ReadOutcome>> RequestReader::ReadChunked(std::size_t max_bytes,
                                                                       Room& room,
                                                                       std::string* body) {
  parsing_->LimitBody(max_bytes);
  while (true) {
    if (end_ - begin_ < kLeastOfAChunkedBody) {
      if (!co_await Fill(BodyDeadline(parsing_->body_bytes()))) co_return Closed{};
      continue;
    }
    const std::size_t before = parsing_->body_bytes();
    error_code code;
    const std::size_t used =
        parsing_->Put(std::span<const char>(buffer_).subspan(begin_, end_ - begin_), &code);
    begin_ += used;
    const std::size_t data = parsing_->body_bytes() - before;
    if (!room.Take(data)) co_return NoRoomForBody(limits_);
    if (code == http::error::body_limit) co_return TooLongBody(max_bytes);
    if (code && code != http::error::need_more) co_return RefusalOf(code, limits_);
    // A chunk's header, or the trailer, whole (it is parsed by itself) or as far as it has come.
    const std::size_t header = code ? end_ - begin_ : used - data;
    if (header > limits_.max_header_bytes) co_return RefusalOf(http::error::header_limit, limits_);
    if (parsing_->done()) break;
    if (begin_ != end_ && !code) continue;
    if (!co_await Fill(BodyDeadline(parsing_->body_bytes()))) co_return Closed{};
  }
  *body = parsing_->TakeBody();
  co_return std::nullopt;
}

TimedStream::Clock::time_point RequestReader::BodyDeadline(std::size_t have) const {
  const auto slowest = limits_.progress_timeout +
                       std::chrono::milliseconds(1000 * have / limits_.min_body_bytes_per_s);
  return std::min(TimedStream::Clock::now() + limits_.progress_timeout, body_start_ + slowest);
}

asio::awaitable<ReadOutcome> RequestReader::ReadHead() {
  parsing_ = std::make_unique<Parsing>();
  if (auto ended = co_await ReadHeader(*parsing_)) co_return *std::move(ended);
  if (const auto wrong = parsing_->WrongFraming()) co_return *wrong;
  co_return parsing_->Take();
}

asio::awaitable<std::optional<ReadOutcome>> RequestReader::ReadBody(Incoming* incoming,
                                                                    std::size_t max_bytes,
                                                                    Room& room) {
  if (!incoming->has_body()) co_return std::nullopt;
  const std::uint64_t bytes = incoming->have + incoming->announced_bytes;
  std::string* body = &incoming->request.body;
  if (bytes > max_bytes) co_return TooLongBody(max_bytes);
  if (incoming->have == body->size() && !Grow(bytes, incoming->have, room, body)) {
    co_return NoRoomForBody(limits_);
  }
  body_start_ = TimedStream::Clock::now();
  if (begin_ == end_ && incoming->expects_100 && !incoming->is_http_1_0 &&
      co_await stream_.Write(kContinue, "", limits_.progress_timeout)) {
    co_return Closed{};
  }
  if (!incoming->is_chunked) co_return co_await ReadSized(bytes, room, incoming);
  co_return co_await ReadChunked(max_bytes, room, body);
}

}  // namespace stoker::net
