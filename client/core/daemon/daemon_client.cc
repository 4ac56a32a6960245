#include "client/core/daemon/daemon_client.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "client/core/daemon/further_tries.h"
#include "protocol/artifact/capture_envelope.h"
#include "protocol/wire/framing.h"
#include "protocol/wire/limits.h"

namespace stoker {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxIdleConnections = 4;
// A daemon that dies may accept and then drop connections for some milliseconds.
constexpr int kMaxAttempts = 5;
constexpr std::chrono::milliseconds kFirstPause{20};  // Before the third attempt; then it doubles.
// While a daemon stops.
constexpr std::chrono::milliseconds kPollInterval{10};
// It compiles anew, and says nothing meanwhile.
constexpr std::chrono::minutes kInspectTimeout{10};
// Whoever asks for health has a few seconds: a container's engine, a supervisor.
constexpr std::chrono::seconds kProbeTimeout{5};

// The error with the id under which the daemon logs more about it.
Error WithRequest(Error error, const HttpResponse& response) {
  error.message += " (request " + response.request_id + ")";
  return error;
}

// The error that a 4xx or 5xx answer carries.
Error ErrorOfResponse(const HttpResponse& response, std::string_view path) {
  if (auto reply = wire::DecodeErrorReply(response.body); reply.ok() && !reply->message.empty()) {
    return WithRequest(wire::ErrorOf(*reply).WithContext(path), response);
  }
  const std::string message = std::string(path) + " answers HTTP " +
                              std::to_string(response.status) + " (request " + response.request_id +
                              ").";
  // Not 404: whoever is in between does not know what the daemon has.
  if (response.status == 503 || response.status == 429) return Unavailable(message);
  return Internal(message);
}

// What CompileOnce reports of a daemon that takes no more now.
std::chrono::seconds BusyTimeOf(const HttpResponse& response) {
  return std::chrono::seconds(response.status == 503 ? response.retry_after_s : 0);
}

bool IsBrokenConnection(const Error& error) { return error.code == ErrorCode::kUnavailable; }

// Takes a stream apart; each whole frame is news.
HttpConnection::OnData FramesTo(std::function<Status(const std::string&)> on_frame) {
  return [frames = wire::FrameReader(),
          on_frame = std::move(on_frame)](std::string_view data) mutable -> Result<bool> {
    frames.Feed(data);
    for (bool is_news = false;; is_news = true) {
      STOKER_TRY(const std::optional<std::string> frame, frames.Next());
      if (!frame) return is_news;
      STOKER_RETURN_IF_ERROR(on_frame(*frame));
    }
  };
}

void PauseBeforeAttempt(int attempt) {
  if (attempt >= 2) std::this_thread::sleep_for(kFirstPause * (1 << (attempt - 2)));
}

}  // namespace

DaemonClient::DaemonClient(DaemonClientOptions options)
    : options_(std::move(options)), circuit_([this] { return Answers(); }, {}) {}

Result<std::unique_ptr<HttpConnection>> DaemonClient::Acquire(bool may_start) {
  if (auto refusal = circuit_.Refusal()) return *std::move(refusal);
  {
    const std::lock_guard lock(mutex_);
    while (!idle_.empty()) {
      auto connection = std::move(idle_.back());
      idle_.pop_back();
      if (connection->usable()) return connection;
    }
    if (unreachable_ && Clock::now() < rest_until_) return *unreachable_;
  }
  const Clock::time_point start = Clock::now();
  auto connection = Connect(may_start);
  if (connection.ok()) return connection;
  // Whether one of ours can be started is found out by starting it.
  options_.private_daemon ? RestAfter(start, connection.error())
                          : GiveUp(start, connection.error());
  return connection;
}

void DaemonClient::GiveUp(Clock::time_point start, const Error& error) {
  if (Clock::now() - start < options_.answer_timeout) return RestAfter(start, error);
  circuit_.Open(error);
  const std::lock_guard lock(mutex_);
  idle_.clear();
}

std::chrono::milliseconds DaemonClient::ConnectTimeout() const {
  return std::min(options_.connect_timeout, options_.answer_timeout);
}

bool DaemonClient::Answers() const {
  auto connection = Reach(ConnectTimeout());
  // One of ours that is gone is started by the next call.
  if (!connection.ok()) return options_.private_daemon.has_value();
  return (*connection)->Call("GET", "/v1/hello", "", ConnectTimeout()).ok();
}

void DaemonClient::RestAfter(Clock::time_point start, const Error& error) {
  const Clock::time_point end = Clock::now();
  const std::lock_guard lock(mutex_);
  idle_.clear();
  unreachable_ = error;
  rest_until_ = end + kRestFactor * (end - start);
}

Result<std::unique_ptr<HttpConnection>> DaemonClient::Reach(
    std::chrono::milliseconds timeout) const {
  auto connection = HttpConnection::Connect(options_.url, timeout, options_.trust);
  if (connection.ok() || connection.error().code != ErrorCode::kNotFound) return connection;
  return Unavailable(connection.error().message);
}

Result<std::unique_ptr<HttpConnection>> DaemonClient::Connect(bool may_start) {
  auto connection = Reach(ConnectTimeout());
  if (connection.ok() || !options_.private_daemon || !may_start) return connection;
  // Somebody else's daemon is no reason to start one, whose place is taken.
  if (connection.error().code == ErrorCode::kFailedPrecondition) return connection;
  STOKER_RETURN_IF_ERROR(
      EnsurePrivateDaemon(*options_.private_daemon, options_.url, options_.connect_timeout));
  return Reach(options_.connect_timeout);
}

void DaemonClient::Release(std::unique_ptr<HttpConnection> connection) {
  const std::lock_guard lock(mutex_);
  if (connection->usable() && idle_.size() < kMaxIdleConnections) {
    idle_.push_back(std::move(connection));
  }
}

Result<HttpResponse> DaemonClient::Exchange(const OnConnection& exchange) {
  for (int attempt = 0;; ++attempt) {
    PauseBeforeAttempt(attempt);
    STOKER_TRY(auto connection, Acquire(/*may_start=*/true));
    const Clock::time_point start = Clock::now();
    auto response = exchange(*connection);
    if (response.ok()) {
      Release(std::move(connection));
      return response;
    }
    if (response.error().code == ErrorCode::kDeadlineExceeded) GiveUp(start, response.error());
    if (attempt + 1 == kMaxAttempts || !IsBrokenConnection(response.error())) return response;
    ForgetDaemon();
  }
}

Result<HttpResponse> DaemonClient::Call(std::string_view method, std::string_view path,
                                        std::string_view body, Patience patience) {
  PartialUpload upload;
  FurtherTries tries(options_.call_timeout);
  while (true) {
    auto response = Exchange([&](HttpConnection& connection) {
      return connection.Call(method, path, body, patience, &upload);
    });
    const bool is_broken = !response.ok() && IsBrokenConnection(response.error());
    if (!is_broken || !tries.MayGoOn(upload.offset)) return response;
  }
}

void DaemonClient::ForgetDaemon() {
  const std::lock_guard lock(mutex_);
  idle_.clear();
  hello_.reset();
}

void DaemonClient::ForgetHello() {
  const std::lock_guard lock(mutex_);
  hello_.reset();
}

Result<DaemonClient::Greeting> DaemonClient::Greet() {
  STOKER_TRY(const HttpResponse response, Call("GET", "/v1/hello", "", ConnectTimeout()));
  if (response.status != 200) {
    return ErrorOfResponse(response, "/v1/hello").WithContext(options_.url.ToString());
  }
  STOKER_TRY(wire::Hello hello, wire::DecodeHello(response.body));
  return Greeting{std::move(hello), response.is_authenticated};
}

Status DaemonClient::Replace() {
  if (Status stopped = Stop(); !stopped.ok() && stopped.error().code != ErrorCode::kNotFound) {
    return stopped;
  }
  ForgetDaemon();
  const Clock::time_point deadline = Clock::now() + options_.connect_timeout;
  while (Connect(/*may_start=*/false).ok()) {
    if (Clock::now() > deadline) {
      return Unavailable("The daemon of another version at " + options_.url.ToString() +
                         " does not stop.");
    }
    std::this_thread::sleep_for(kPollInterval);
  }
  return Ok();
}

Result<wire::Hello> DaemonClient::Hello() {
  {
    const std::lock_guard lock(mutex_);
    if (hello_) return *hello_;
  }
  STOKER_TRY(Greeting greeting, Greet());
  if (greeting.hello.protocol_version != wire::kProtocolVersion && options_.private_daemon) {
    STOKER_RETURN_IF_ERROR(Replace());
    STOKER_TRY(greeting, Greet());
  }
  const wire::Hello& hello = greeting.hello;
  if (hello.protocol_version != wire::kProtocolVersion) {
    return FailedPrecondition("The daemon at " + options_.url.ToString() +
                              " speaks protocol version " + std::to_string(hello.protocol_version) +
                              "; this client speaks " + std::to_string(wire::kProtocolVersion) +
                              ".");
  }
  STOKER_TRY(std::vector<PublicKey> signers,
             BelievedSigners(options_.trust, hello.signing_keys, greeting.is_authenticated,
                             options_.url.ToString()));
  const std::lock_guard lock(mutex_);
  hello_ = hello;
  signers_ = std::move(signers);
  return hello;
}

Result<std::vector<PublicKey>> DaemonClient::Signers() {
  STOKER_RETURN_IF_ERROR(Hello());
  const std::lock_guard lock(mutex_);
  return signers_;
}

Result<std::variant<wire::Bundle, wire::Miss>> DaemonClient::Lookup(
    const wire::LookupRequest& request) {
  using Answer = std::variant<wire::Bundle, wire::Miss>;
  STOKER_TRY(
      const HttpResponse response,
      Call("POST", "/v1/lookup", wire::EncodeLookupRequest(request), options_.answer_timeout));
  if (response.status == 200) {
    STOKER_TRY(wire::Bundle bundle, wire::DecodeBundle(response.body));
    return Answer(std::move(bundle));
  }
  if (response.status == 404) {
    STOKER_TRY(wire::Miss miss, wire::DecodeMiss(response.body));
    return Answer(std::move(miss));
  }
  return ErrorOfResponse(response, "/v1/lookup");
}

Result<wire::Bundle> DaemonClient::CompileOnce(const std::string& body, PartialUpload& upload,
                                               const OnProgress& on_progress,
                                               std::chrono::seconds* busy) {
  STOKER_TRY(auto connection, Acquire(/*may_start=*/true));
  std::optional<Result<wire::Bundle>> answer;
  const auto on_frame = [&](const std::string& frame) -> Status {
    STOKER_TRY(wire::CompileEvent event, wire::DecodeCompileEvent(frame));
    if (const auto* progress = std::get_if<wire::Progress>(&event)) {
      if (on_progress) on_progress(*progress);
    } else if (auto* bundle = std::get_if<wire::Bundle>(&event)) {
      answer.emplace(std::move(*bundle));
    } else {
      answer.emplace(wire::ErrorOf(std::get<wire::ErrorReply>(event)));
    }
    return Ok();
  };
  const auto response = connection->Stream("POST", "/v1/compile", body, options_.compile_timeout,
                                           FramesTo(on_frame), &upload);
  if (!response.ok()) {
    if (response.error().code == ErrorCode::kDeadlineExceeded) {
      RestAfter(Clock::now() - options_.compile_timeout, response.error());
    }
    return response.error();
  }
  Release(std::move(connection));
  *busy = BusyTimeOf(*response);
  if (response->status != 200) return ErrorOfResponse(*response, "/v1/compile");
  if (!answer) return Unavailable("The daemon ended the compile without an answer.");
  if (!answer->ok()) return WithRequest(answer->error(), *response);
  return *std::move(answer);
}

Result<wire::Bundle> DaemonClient::Compile(const wire::CompileCall& call,
                                           const OnProgress& on_progress) {
  const std::string body = wire::EncodeCompileCall(call);
  PartialUpload upload;
  FurtherTries tries(options_.call_timeout);
  std::chrono::seconds waited{0};
  for (int attempt = 0;; ++attempt) {
    PauseBeforeAttempt(attempt);
    std::chrono::seconds busy{0};
    auto bundle = CompileOnce(body, upload, on_progress, &busy);
    if (busy.count() > 0) {
      if (waited + busy > options_.busy_patience) return bundle;
      std::this_thread::sleep_for(busy);
      waited += busy;
      attempt = -1;  // The daemon lives.
      continue;
    }
    if (bundle.ok() || !IsBrokenConnection(bundle.error())) return bundle;
    if (tries.MayGoOn(upload.offset)) {
      attempt = -1;
    } else if (attempt + 1 == kMaxAttempts) {
      return bundle;
    }
    ForgetDaemon();
  }
}

Result<std::string> DaemonClient::Download(std::string_view path) {
  PartialContent content;
  FurtherTries tries(options_.call_timeout);
  while (true) {
    const auto response = Exchange([&](HttpConnection& connection) {
      return connection.Download(path, options_.call_timeout, content);
    });
    if (!response.ok() && !IsBrokenConnection(response.error())) return response.error();
    if (response.ok() && response->status != 200 && response->status != 206) {
      return ErrorOfResponse(*response, path);
    }
    if (response.ok() && content.is_whole()) return std::move(content.bytes);
    if (!tries.MayGoOn(content.bytes.size())) {
      const std::string why = response.ok() ? "It comes in parts." : response.error().message;
      return Unavailable(std::string(path) + " gets no further than " +
                         std::to_string(tries.furthest()) + " bytes: " + why);
    }
  }
}

Result<std::string> DaemonClient::Ask(std::string_view path, const std::string& body,
                                      Patience patience) {
  STOKER_TRY(HttpResponse response, Call("POST", path, body, patience));
  if (response.status != 200) return ErrorOfResponse(response, path);
  return std::move(response.body);
}

Status DaemonClient::Tell(std::string_view path, const std::string& body, Patience patience) {
  STOKER_TRY(const HttpResponse response, Call("POST", path, body, patience));
  if (response.status / 100 != 2) return ErrorOfResponse(response, path);
  return Ok();
}

Status DaemonClient::Report(const wire::Report& report) {
  return Tell("/v1/report", wire::EncodeReport(report), options_.answer_timeout);
}

Result<std::variant<wire::CaptureList, wire::Miss>> DaemonClient::FindCaptures(
    const wire::CaptureQuery& query) {
  using Answer = std::variant<wire::CaptureList, wire::Miss>;
  constexpr std::string_view kPath = "/v1/captures/find";
  STOKER_TRY(const HttpResponse response,
             Call("POST", kPath, wire::EncodeCaptureQuery(query), options_.answer_timeout));
  if (response.status == 200) {
    STOKER_TRY(wire::CaptureList list, wire::DecodeCaptureList(response.body));
    return Answer(std::move(list));
  }
  if (response.status == 404) {
    STOKER_TRY(wire::Miss miss, wire::DecodeMiss(response.body));
    return Answer(std::move(miss));
  }
  return ErrorOfResponse(response, kPath);
}

Status DaemonClient::PutCapture(const wire::CapturePut& put) {
  return Tell("/v1/captures/put", wire::EncodeCapturePut(put), options_.call_timeout);
}

Status DaemonClient::DropCapture(const wire::CaptureDrop& drop) {
  return Tell("/v1/captures/drop", wire::EncodeCaptureDrop(drop), options_.call_timeout);
}

Status DaemonClient::NoteCapture(const wire::CaptureNote& note) {
  return Tell("/v1/captures/note", wire::EncodeCaptureNote(note), options_.answer_timeout);
}

Result<wire::ListReply> DaemonClient::List(const wire::ListRequest& request) {
  STOKER_TRY(const std::string answer,
             Ask("/v1/list", wire::EncodeListRequest(request), options_.call_timeout));
  return wire::DecodeListReply(answer);
}

Result<wire::InspectReply> DaemonClient::Inspect(const wire::InspectRequest& request) {
  STOKER_TRY(const std::string answer,
             Ask("/v1/inspect", wire::EncodeInspectRequest(request), kInspectTimeout));
  return wire::DecodeInspectReply(answer);
}

Result<wire::ExplainReply> DaemonClient::Explain(const wire::ExplainRequest& request) {
  STOKER_TRY(const std::string answer,
             Ask("/v1/explain", wire::EncodeExplainRequest(request), options_.call_timeout));
  return wire::DecodeExplainReply(answer);
}

Result<wire::UpkeepReport> DaemonClient::Upkeep(std::string_view work, const std::string& body,
                                                const OnProgress& on_progress) {
  const std::string path = "/v1/cache/" + std::string(work);
  STOKER_TRY(auto connection, Acquire(/*may_start=*/true));
  std::optional<Result<wire::UpkeepReport>> answer;
  const auto on_frame = [&](const std::string& frame) -> Status {
    STOKER_TRY(wire::UpkeepEvent event, wire::DecodeUpkeepEvent(frame));
    if (const auto* progress = std::get_if<wire::Progress>(&event)) {
      if (on_progress) on_progress(*progress);
    } else if (auto* report = std::get_if<wire::UpkeepReport>(&event)) {
      answer.emplace(std::move(*report));
    } else {
      answer.emplace(wire::ErrorOf(std::get<wire::ErrorReply>(event)));
    }
    return Ok();
  };
  STOKER_TRY(const HttpResponse response,
             connection->Stream("POST", path, body, options_.call_timeout, FramesTo(on_frame)));
  Release(std::move(connection));
  if (response.status != 200) return ErrorOfResponse(response, path);
  if (!answer) return Unavailable("The daemon ended " + path + " without an answer.");
  return *std::move(answer);
}

Result<wire::Pin> DaemonClient::Pin(const wire::PinRequest& request, bool pinned) {
  const std::string path = pinned ? "/v1/cache/pin" : "/v1/cache/unpin";
  STOKER_TRY(const std::string answer,
             Ask(path, wire::EncodePinRequest(request), options_.call_timeout));
  return wire::DecodePin(answer);
}

Result<wire::PinList> DaemonClient::Pins(const wire::PinsRequest& request) {
  STOKER_TRY(const std::string answer,
             Ask("/v1/cache/pins", wire::EncodePinsRequest(request), options_.call_timeout));
  return wire::DecodePinList(answer);
}

Result<wire::StoredEntry> DaemonClient::GetEntry(const wire::EntryQuery& query) {
  STOKER_TRY(const std::string answer,
             Ask("/v1/entries/get", wire::EncodeEntryQuery(query), options_.call_timeout));
  return wire::DecodeStoredEntry(answer);
}

Result<wire::EntryReply> DaemonClient::PutEntry(const wire::StoredEntry& entry) {
  STOKER_TRY(const std::string answer,
             Ask("/v1/entries/put", wire::EncodeStoredEntry(entry), options_.call_timeout));
  return wire::DecodeEntryReply(answer);
}

Result<bool> DaemonClient::HasCapture(const wire::CapturePut& put) {
  STOKER_TRY(const OpenedCapture opened, OpenCapture(put.capture));
  const auto entry = GetEntry({put.key.ns, CaptureListKey(put.key.capture_key, opened.writer)});
  if (entry.ok()) {
    return std::ranges::find(entry->references, Sha256Of(put.capture)) != entry->references.end();
  }
  const ErrorCode code = entry.error().code;
  if (code == ErrorCode::kNotFound || code == ErrorCode::kDataLoss) return false;
  return entry.error();
}

Result<std::string> DaemonClient::GetBlob(const Digest& digest) {
  STOKER_TRY(const std::string bytes, Download("/cas/" + digest.ToHex()));
  if (const Digest actual = Sha256Of(bytes); actual != digest) {
    return DataLoss("Blob " + digest.ToHex() + " has digest " + actual.ToHex() + ".");
  }
  return bytes;
}

Status DaemonClient::PutBlob(const Digest& digest, std::string_view bytes) {
  const std::string path = "/cas/" + digest.ToHex();
  STOKER_TRY(const HttpResponse response, Call("PUT", path, bytes, options_.call_timeout));
  if (response.status / 100 != 2) return ErrorOfResponse(response, path);
  return Ok();
}

Status DaemonClient::Stop() {
  STOKER_TRY(const auto connection,
             HttpConnection::Connect(options_.url, ConnectTimeout(), options_.trust));
  STOKER_TRY(const HttpResponse response,
             connection->Call("POST", "/-/quit", "", options_.call_timeout));
  if (response.status / 100 != 2) return ErrorOfResponse(response, "/-/quit");
  return Ok();
}

Result<std::string> DaemonClient::Get(const std::string& path) {
  // A trace may be made anew, which is a compile.
  const Patience patience =
      path.starts_with("/v1/traces/") ? Patience(kInspectTimeout) : options_.call_timeout;
  STOKER_TRY(HttpResponse response, Call("GET", path, "", patience));
  if (response.status != 200) return ErrorOfResponse(response, path);
  return std::move(response.body);
}

Result<std::string> DaemonClient::Probe(const std::string& path) {
  STOKER_TRY(auto connection, Acquire(/*may_start=*/false));
  STOKER_TRY(HttpResponse response, connection->Call("GET", path, "", kProbeTimeout));
  if (response.status != 200) return ErrorOfResponse(response, path);
  return std::move(response.body);
}

}  // namespace stoker
