#include "daemon/net/connection.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "daemon/net/http/foreign_page.h"
#include "daemon/net/http/reply_text.h"
#include "daemon/net/http/upload_request.h"
#include "protocol/wire/header/job_name.h"

namespace stoker::net {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kLingerBytes = 4096;
constexpr int kRetryAfterSeconds = 1;
// A small body goes out with its header, in one buffer.
constexpr std::size_t kJoinedBytes = 4096;

HttpReply AllConnectionsTaken(const ServerLimits& limits) {
  return ErrorReplyFor(
      503,
      Unavailable("All " + std::to_string(limits.max_connections) + " connections are in use."),
      kRetryAfterSeconds);
}

HttpReply NoRoomForReply(const ServerLimits& limits) {
  return ErrorReplyFor(503,
                       Unavailable("The replies being sent exceed the limit of " +
                                   std::to_string(limits.max_replies_bytes) + " bytes."),
                       kRetryAfterSeconds);
}

// What a connection in a request counts.
class InRequest {
 public:
  InRequest(bool& flag, std::atomic<std::size_t>& count) : flag_(flag), count_(count) {
    flag_ = true;
    count_.fetch_add(1);
  }
  ~InRequest() {
    flag_ = false;
    count_.fetch_sub(1);
  }
  InRequest(const InRequest&) = delete;
  InRequest& operator=(const InRequest&) = delete;

 private:
  bool& flag_;
  std::atomic<std::size_t>& count_;
};

class ChunkedStream : public HttpStream {
 public:
  ChunkedStream(TimedStream& stream, std::chrono::milliseconds timeout,
                const HeaderOptions& options)
      : stream_(stream), timeout_(timeout), options_(options) {
    options_.is_chunked = true;
  }

  asio::awaitable<Status> Send(std::string_view piece) override {
    if (failed_) co_return Unavailable("The client is gone.");
    std::string head = started_ ? std::exchange(owed_, {}) : HeaderText(HttpReply{}, options_);
    started_ = true;
    if (!piece.empty()) {
      std::array<char, 16> digits;
      const auto [end, error] =
          std::to_chars(digits.data(), digits.data() + digits.size(), piece.size(), 16);
      head.append(digits.data(), end).append("\r\n");
      if (piece.size() <= kJoinedBytes) head.append(std::exchange(piece, {})).append("\r\n");
    }
    if (!piece.empty()) owed_ = "\r\n";
    const auto code = co_await stream_.Write(head, piece, timeout_);
    failed_ = static_cast<bool>(code);
    if (failed_) co_return Unavailable("Sending to the client fails: " + code.message() + ".");
    co_return Ok();
  }

  bool started() const { return started_; }

  asio::awaitable<bool> Finish() {
    if (failed_) co_return false;
    const auto code = co_await stream_.Write(owed_ + "0\r\n\r\n", "", timeout_);
    co_return !code;
  }

 private:
  TimedStream& stream_;
  const std::chrono::milliseconds timeout_;
  HeaderOptions options_;
  std::string owed_;  // The end of a chunk, which goes out with what follows it.
  bool started_ = false;
  bool failed_ = false;
};

}  // namespace

Connection::Connection(std::unique_ptr<Stream> stream, const Peer& peer, bool is_urgent,
                       HttpHandler& handler, const ServerLimits& limits, ServerLoad& load,
                       Uploads& uploads)
    : stream_(std::move(stream)),
      peer_(peer),
      is_urgent_(is_urgent),
      handler_(handler),
      limits_(limits),
      load_(load),
      uploads_(uploads),
      reader_(stream_, limits),
      state_(load) {}

bool Connection::KeepsAlive(const Incoming& incoming) const {
  return incoming.keep_alive && !load_.stopping && !is_urgent_;
}

asio::awaitable<bool> Connection::Open() {
  switch (co_await stream_.Open(limits_.header_timeout)) {
    case Opening::kOpen:
      peer_.certificate_names = stream_.CertificateNames();
      co_return true;
    case Opening::kFailed:
      co_await Linger();
      co_return false;
    case Opening::kInClear:
      co_await Refuse(ErrorReplyFor(400, InvalidArgument("This port speaks TLS: its URL begins "
                                                         "with https://.")),
                      "");
      co_return false;
  }
  co_return false;
}

asio::awaitable<bool> Connection::ServeOne() {
  state_.Become(ConnectionState::kIdle);
  has_header_ = false;
  if (!co_await reader_.Wait()) co_return false;
  state_.Become(ConnectionState::kReading);
  const InRequest in_request(in_request_, load_.active_requests);
  ReadOutcome outcome = co_await reader_.ReadHead();
  if (auto* incoming = std::get_if<Incoming>(&outcome)) {
    has_header_ = true;
    incoming->request.peer = peer_;
    if (!IsRequestId(incoming->request.id)) incoming->request.id = MakeRequestId();
    if (!wire::IsJobName(incoming->request.job)) incoming->request.job.clear();
    co_return co_await Serve(std::move(*incoming));
  }
  if (const auto* refusal = std::get_if<HttpReply>(&outcome)) co_await Refuse(*refusal, "");
  co_return false;
}

std::optional<HttpReply> Connection::RefusalOf(const HttpRequest& header) const {
  if (is_urgent_ && !handler_.IsUrgent(header.path)) return AllConnectionsTaken(limits_);
  if (const auto refusal = RefusalOfForeignPage(header)) return ErrorReplyFor(403, *refusal);
  return std::nullopt;
}

asio::awaitable<bool> Connection::Serve(Incoming incoming) {
  if (const auto refusal = RefusalOf(incoming.request)) {
    co_return co_await Reject(*refusal, incoming);
  }
  if (incoming.request.path.starts_with(Uploads::kFolder)) {
    co_return co_await ServeUpload(incoming);
  }
  const HttpHandler::Admission admission = handler_.Admit(incoming.request);
  if (admission.refusal) co_return co_await Reject(*admission.refusal, incoming);
  const std::size_t max_bytes = std::min(admission.max_body_bytes, limits_.max_body_bytes);
  if (IsUpload(incoming) && incoming.announced_bytes <= max_bytes) {
    auto turn = uploads_.Begin(incoming.request, incoming.announced_bytes);
    if (turn &&
        co_await stream_.Write(UploadOffer(*turn, max_bytes), "", limits_.progress_timeout)) {
      co_return false;
    }
    if (turn) turn_.emplace(*std::move(turn));
  }
  co_return co_await Receive(std::move(incoming),
                             Room(load_.bodies_bytes, limits_.max_bodies_bytes), max_bytes);
}

// Who may ask is found out again: meanwhile it may be others.
asio::awaitable<bool> Connection::ServeUpload(const Incoming& incoming) {
  auto outcome = co_await AnswerUpload(incoming, uploads_);
  if (const auto* reply = std::get_if<HttpReply>(&outcome)) {
    co_return co_await Reject(*reply, incoming);
  }
  Continued& continued = std::get<Continued>(outcome);
  const HttpHandler::Admission admission = handler_.Admit(continued.incoming.request);
  if (admission.refusal) co_return co_await Reject(*admission.refusal, incoming);
  turn_.emplace(std::move(continued.turn));
  co_return co_await Receive(std::move(continued.incoming), std::move(continued.room),
                             std::min(admission.max_body_bytes, limits_.max_body_bytes));
}

asio::awaitable<bool> Connection::Receive(Incoming incoming, Room room, std::size_t max_bytes) {
  const auto ended = co_await reader_.ReadBody(&incoming, max_bytes, room);
  if (turn_ && ended && std::holds_alternative<Closed>(*ended)) {
    turn_->Keep({std::move(incoming.request), incoming.have, std::move(room)});
  }
  const bool is_cancelled = turn_ && !ended && !turn_->Finish();
  turn_.reset();
  if (is_cancelled) co_return false;
  if (!ended) co_return co_await Answer(std::move(incoming));
  if (const auto* refusal = std::get_if<HttpReply>(&*ended)) {
    // Nothing is kept while the peer reads it.
    const std::string id = incoming.request.id;
    incoming = {};
    room.GiveBack();
    co_await Refuse(*refusal, id);
  }
  co_return false;
}

asio::awaitable<bool> Connection::Reject(const HttpReply& refusal, const Incoming& incoming) {
  if (!incoming.has_body() && !is_urgent_) co_return co_await Reply(refusal, incoming);
  co_await Refuse(refusal, incoming.request.id);
  co_return false;
}

asio::awaitable<bool> Connection::Answer(Incoming incoming) {
  state_.Become(ConnectionState::kAnswering);
  HttpRequest request = std::move(incoming.request);
  incoming.request.id = request.id;
  incoming.request.method = request.method;
  ChunkedStream chunks(stream_, limits_.progress_timeout,
                       {.keep_alive = KeepsAlive(incoming),
                        .is_http_1_0 = incoming.is_http_1_0,
                        .ends_upload = incoming.ends_upload,
                        .request_id = incoming.request.id});
  std::optional<HttpReply> reply;
  std::optional<Error> thrown;
  try {
    reply = co_await handler_.Handle(std::move(request), chunks);
  } catch (const std::exception& e) {
    thrown = Internal(std::string("Unexpected exception: ") + e.what());
  }
  if (thrown) {
    if (chunks.started()) co_return false;
    reply = ErrorReplyFor(500, *thrown);
  }
  if (!reply) co_return co_await chunks.Finish() && KeepsAlive(incoming);
  if (reply->status == 200 && reply->accepts_ranges && !incoming.range.empty()) {
    reply = PartOf(*std::move(reply), incoming.range);
  }
  Room replies(load_.replies_bytes, limits_.max_replies_bytes);
  if (!reply->body.is_shared() && !replies.Take(reply->body.bytes().size())) {
    reply = NoRoomForReply(limits_);
  }
  co_return co_await Reply(*reply, incoming);
}

asio::awaitable<bool> Connection::Reply(const HttpReply& reply, const Incoming& incoming) {
  const bool keep_alive = KeepsAlive(incoming);  // Stopping may have begun meanwhile.
  std::string head = HeaderText(reply, {.keep_alive = keep_alive,
                                        .is_http_1_0 = incoming.is_http_1_0,
                                        .ends_upload = incoming.ends_upload,
                                        .request_id = incoming.request.id});
  std::string_view body = incoming.request.method == "HEAD" ? "" : reply.body.bytes();
  if (body.size() <= kJoinedBytes) head.append(std::exchange(body, {}));
  const auto code = co_await stream_.Write(head, body, limits_.progress_timeout);
  co_return !code && keep_alive;
}

asio::awaitable<void> Connection::Refuse(const HttpReply& reply, std::string_view request_id) {
  const std::string head = HeaderText(reply, {.keep_alive = false, .request_id = request_id});
  if (co_await stream_.Write(head, reply.body.bytes(), limits_.progress_timeout)) co_return;
  has_header_ = false;
  co_await Linger();
}

// Closing a connection that has unread bytes resets it, and the peer, which may still be sending,
// never reads the refusal. Reads on for a moment.
asio::awaitable<void> Connection::Linger() {
  co_await stream_.EndSending();
  const auto end = TimedStream::Clock::now() + limits_.linger_timeout;
  std::array<char, kLingerBytes> discarded;
  while (!(co_await stream_.ReadBy(discarded, end)).code) {
  }
}

}  // namespace stoker::net
