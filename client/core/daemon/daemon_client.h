// DaemonClient: the /v1 conversation (protocol/wire/WIRE.md), with connecting, reconnecting and
// starting of a private daemon behind it. Safe to call from any thread: every thread that calls at
// the same time uses a connection of its own.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "client/core/connection/http_connection.h"
#include "client/core/daemon/circuit_breaker.h"
#include "client/core/daemon/private_daemon.h"
#include "protocol/wire/capture_messages.h"
#include "protocol/wire/entry_messages.h"
#include "protocol/wire/messages.h"
#include "protocol/wire/upkeep_messages.h"

namespace stoker {

struct DaemonClientOptions {
  DaemonUrl url;
  DaemonTrust trust;
  // Set when the daemon is ours to start.
  std::optional<PrivateDaemonOptions> private_daemon;
  // Patience with a connection, and with a private daemon that starts.
  std::chrono::milliseconds connect_timeout{10000};
  // Patience with a compile: every five seconds the daemon says that it lives.
  std::chrono::milliseconds compile_timeout{30000};
  std::chrono::milliseconds call_timeout{30000};  // Patience with any other call.
  // Patience with a daemon that runs and what a job waits for, be it a connection.
  std::chrono::milliseconds answer_timeout{30000};
  std::chrono::seconds busy_patience{60};  // How long a compile waits for a place in the queue.
};

class DaemonClient {
 public:
  // After a failed attempt to reach or start the daemon that took t, or a compile that fell silent
  // for t, calls fail at once for this many times t: a job of many graphs must not wait with each
  // of them for a daemon that hangs. One that runs and has not answered within `answer_timeout` is
  // left alone until the circuit breaker finds that it does.
  static constexpr int kRestFactor = 10;

  explicit DaemonClient(DaemonClientOptions options);

  const DaemonUrl& url() const { return options_.url; }

  // Asked once; the answer is kept until the daemon is replaced. A private daemon that speaks
  // another version is replaced; of any other, FailedPrecondition, as for one whose artifacts are
  // not to be believed.
  Result<wire::Hello> Hello();
  // The keys whose artifacts are loaded. Says hello if nobody has.
  Result<std::vector<PublicKey>> Signers();
  // Says hello again at the next call: the daemon's keys may be others by now.
  void ForgetHello();
  // What the daemon says of itself, believed or not.
  struct Greeting {
    wire::Hello hello;
    bool is_authenticated = false;
  };
  Result<Greeting> Greet();

  // A Miss is a value.
  Result<std::variant<wire::Bundle, wire::Miss>> Lookup(const wire::LookupRequest& request);
  using OnProgress = std::function<void(const wire::Progress&)>;
  // Waits for a while when the daemon's queue is full.
  Result<wire::Bundle> Compile(const wire::CompileCall& call, const OnProgress& on_progress);
  Status Report(const wire::Report& report);
  Result<wire::ListReply> List(const wire::ListRequest& request);
  Result<wire::InspectReply> Inspect(const wire::InspectRequest& request);
  Result<wire::ExplainReply> Explain(const wire::ExplainRequest& request);
  // A Miss is a value.
  Result<std::variant<wire::CaptureList, wire::Miss>> FindCaptures(const wire::CaptureQuery& query);
  Status PutCapture(const wire::CapturePut& put);
  Status DropCapture(const wire::CaptureDrop& drop);
  Status NoteCapture(const wire::CaptureNote& note);
  // `work`: gc, purge, verify, with its request as the body. Never repeated.
  Result<wire::UpkeepReport> Upkeep(std::string_view work, const std::string& body,
                                    const OnProgress& on_progress);
  Result<wire::Pin> Pin(const wire::PinRequest& request, bool pinned);
  Result<wire::PinList> Pins(const wire::PinsRequest& request);
  Result<wire::StoredEntry> GetEntry(const wire::EntryQuery& query);
  Result<wire::EntryReply> PutEntry(const wire::StoredEntry& entry);
  // Whether this very capture is stored under its key, whoever wrote it.
  Result<bool> HasCapture(const wire::CapturePut& put);
  // Verified. NotFound: it is not stored.
  Result<std::string> GetBlob(const Digest& digest);
  Status PutBlob(const Digest& digest, std::string_view bytes);
  // Asks the daemon to drain and stop. NotFound: nobody listens there. Never starts one.
  Status Stop();
  // Body of GET `path`.
  Result<std::string> Get(const std::string& path);
  // The same of a daemon that runs; never starts one.
  Result<std::string> Probe(const std::string& path);

 private:
  using Patience = HttpConnection::Patience;
  Result<std::unique_ptr<HttpConnection>> Acquire(bool may_start);
  Result<std::unique_ptr<HttpConnection>> Connect(bool may_start);
  // One that runs. Unavailable: none is there, or none answers.
  Result<std::unique_ptr<HttpConnection>> Reach(std::chrono::milliseconds timeout) const;
  void RestAfter(std::chrono::steady_clock::time_point start, const Error& error);
  // Has waited since `start` for an answer or a connection.
  void GiveUp(std::chrono::steady_clock::time_point start, const Error& error);
  std::chrono::milliseconds ConnectTimeout() const;
  bool Answers() const;
  void Release(std::unique_ptr<HttpConnection> connection);
  // One exchange; a broken connection is replaced and the exchange repeated a few times: every /v1
  // call may be repeated safely.
  using OnConnection = std::function<Result<HttpResponse>(HttpConnection&)>;
  Result<HttpResponse> Exchange(const OnConnection& exchange);
  // Sends a long body on where connections break.
  Result<HttpResponse> Call(std::string_view method, std::string_view path, std::string_view body,
                            Patience patience);
  // Stops a private daemon of another version, which an upgrade has left; the next call starts
  // ours.
  Status Replace();
  // What was kept of a daemon that is gone is of no use.
  void ForgetDaemon();
  // `busy`: after how long a daemon that takes no more now may be asked again; otherwise 0.
  Result<wire::Bundle> CompileOnce(const std::string& body, PartialUpload& upload,
                                   const OnProgress& on_progress, std::chrono::seconds* busy);
  // The content at `path`.
  Result<std::string> Download(std::string_view path);
  // A call that is answered with a message: its bytes.
  Result<std::string> Ask(std::string_view path, const std::string& body, Patience patience);
  // A call that is answered without content.
  Status Tell(std::string_view path, const std::string& body, Patience patience);

  const DaemonClientOptions options_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<HttpConnection>> idle_;
  std::optional<wire::Hello> hello_;
  std::vector<PublicKey> signers_;    // Believed with hello_.
  std::optional<Error> unreachable_;  // Why, until rest_until_.
  std::chrono::steady_clock::time_point rest_until_;
  CircuitBreaker circuit_;  // Ends before what it probes with.
};

}  // namespace stoker
