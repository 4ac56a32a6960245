#include "daemon/service/compile_service.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/strand.hpp>
#include <tuple>
#include <utility>

#include "cache/clock.h"
#include "compiler/compile.h"
#include "daemon/observe/compile_watch.h"
#include "daemon/service/waiting/blocking.h"
#include "protocol/key/compile_request.h"
#include "protocol/wire/framing.h"
#include "protocol/wire/limits.h"

namespace stoker {
namespace {

namespace asio = boost::asio;

// Silence is broken this often, so that a client can tell a long compile from a dead daemon.
constexpr std::chrono::seconds kHeartbeat{5};
// Of one caller: a thousand who wait must not slow the compile that they wait for.
constexpr std::chrono::milliseconds kProgressInterval{250};

// Entries count their hits under a part of their key, which is enough to tell them apart.
std::string HitCounterOf(const std::string& ns, const Digest& request_key) {
  constexpr std::size_t kDigits = 32;
  return "entry." + ns + "." + request_key.ToHex().substr(0, kDigits) + ".hits";
}

// What every line about a compile says, and what this one says besides.
LogFields LogFieldsOf(const wire::CompileCall& call, const std::string& request_id,
                      const LogFields& more = {}) {
  LogFields fields = {{"request", request_id},
                      {"namespace", call.ns},
                      {"key", call.request_key.ToHex().substr(0, kShownKeyDigits)},
                      {"graph", call.graph_name}};
  fields.insert(fields.end(), more.begin(), more.end());
  return fields;
}

FlightTable::Key FlightKeyOf(const wire::CompileCall& call) { return {call.ns, call.request_key}; }

Error SendTheGraph(const wire::CompileCall& call) {
  return FailedPrecondition("Field 'compile.graph_digest' names " + call.graph_digest.ToHex() +
                            ", which is not stored: send the graph.");
}

std::string FrameOf(const wire::CompileEvent& event) {
  std::string frame;
  wire::AppendFrame(wire::EncodeCompileEvent(event), &frame);
  return frame;
}

// To who wants it stored and nothing else.
wire::CompileEvent StoredReplyOf(const LandedArtifact& artifact, const std::string& source) {
  if (!artifact.unstored().empty()) {
    return wire::ErrorReplyOf(
        ResourceExhausted("The artifact was compiled and is not stored: " + artifact.unstored()));
  }
  wire::Bundle bundle;
  bundle.source = source;
  bundle.compile_seconds = artifact.compile_seconds();
  return bundle;
}

// Namespaces in which the daemon keeps what is no artifact.
Status CheckNotReserved(std::string_view field, const std::string& ns) {
  if (ns != kKernelNamespace && ns != kBazelNamespace) return Ok();
  return InvalidArgument("Field '" + std::string(field) + "' is '" + ns +
                         "', which the daemon keeps for itself.");
}

// What can be said of a call without its graph.
Status CheckCall(const wire::CompileCall& call) {
  STOKER_RETURN_IF_ERROR(CheckNotReserved("compile.namespace", call.ns));
  if (call.compiler_epoch != CompilerEpoch()) {
    return FailedPrecondition("Field 'compile.compiler_epoch' is '" + call.compiler_epoch +
                              "'; this daemon compiles with '" + CompilerEpoch() + "'.");
  }
  return Ok();
}

// Whether the graph belongs to the key. A graph's digest is that of its bytes, so that nothing is
// decoded for this: what a stranger's bytes mean is a worker's business.
Status CheckKey(wire::CompileCall& call) {
  const Digest digest = Sha256Of(call.graph);
  if (!call.graph_digest.IsZero() && call.graph_digest != digest) {
    return DataLoss("Field 'compile.graph' has digest " + digest.ToHex() +
                    "; compile.graph_digest is " + call.graph_digest.ToHex() + ".");
  }
  call.graph_digest = digest;
  const Digest key = KeyOf(digest, call.target, call.options, call.compiler_epoch).digest;
  if (key == call.request_key) return Ok();
  return FailedPrecondition("Field 'compile.request_key' is " + call.request_key.ToHex() +
                            "; this request's key is " + key.ToHex() + ".");
}

}  // namespace

CompileService::CompileService(asio::any_io_executor executor, asio::thread_pool& blocking,
                               CacheStack& stack, Statistics& statistics, const KeyRing& keys,
                               ServiceConfig config)
    : executor_(executor),
      blocking_(blocking),
      statistics_(statistics),
      keys_(keys),
      config_(std::move(config)),
      store_(stack, keys),
      workers_(executor, blocking, config_.worker,
               [this](std::string_view message, std::string_view request_id) {
                 LogFields fields;
                 if (!request_id.empty()) fields = {{"request", std::string(request_id)}};
                 config_.log.warn(message, fields);
               }),
      admission_(std::make_shared<JobAdmission>(config_.queue_limit)) {}

// In all, in a namespace, and of artifacts.
void CompileService::CountEach(const std::string& ns, std::string_view name, double delta) {
  statistics_.Add(name, delta);
  statistics_.Add("kind.artifact." + std::string(name), delta);
  statistics_.AddLabelled("ns.", ns, "." + std::string(name), delta);
}

void CompileService::CountHit(const std::string& ns, const Digest& key, const std::string& source,
                              double seconds_saved) {
  CountEach(ns, "hits");
  CountEach(ns, "seconds_saved", seconds_saved);
  statistics_.Add("hits." + source);
  statistics_.Add(HitCounterOf(ns, key));
}

void CompileService::CountMiss(const std::string& ns, const std::string& reason) {
  CountEach(ns, "misses");
  statistics_.AddLabelled("misses.reason.", reason);
}

void CompileService::RememberMiss(const wire::LookupRequest& request, const std::string& job,
                                  const MissReason& reason) {
  observations_->jobs.Add(request.ns, job, {.misses = 1});
  Miss miss;
  miss.name_space = request.ns;
  miss.job = job;
  miss.key = request.request_key;
  miss.reason = reason.name;
  miss.text = reason.text;
  miss.nearest = reason.nearest;
  miss.unix_s = static_cast<double>(SystemUnixNanos()) / kNanosPerSecond;
  observations_->misses.Remember(std::move(miss));
}

void CompileService::CountCompile(const wire::CompileCall& call, const CompiledArtifact& compiled,
                                  const Caller& caller) {
  const double seconds = compiled.artifact.compile_seconds;
  const ActivityCounts done{.compiles = 1, .compile_seconds = seconds};
  observations_->jobs.Add(call.ns, caller.job, done);
  observations_->models.Add(call.ns, call.graph_name, done);
  CountEach(call.ns, "compiles");
  CountEach(call.ns, "compile_seconds", seconds);
  const std::size_t made = compiled.compiled_keys.size();
  const std::size_t reused = compiled.manifest.kernels.size() - made;
  statistics_.Add("kernels.compiled", static_cast<double>(made));
  statistics_.Add("kernels.reused", static_cast<double>(reused));
  statistics_.Add("kind.kernel.compiles", static_cast<double>(made));
  statistics_.Add("kind.kernel.misses", static_cast<double>(made));
  statistics_.Add("kind.kernel.hits", static_cast<double>(reused));
  config_.log.info("compiled", LogFieldsOf(call, caller.request_id,
                                           {{"seconds", std::to_string(seconds)},
                                            {"kernels", std::to_string(made)},
                                            {"reused", std::to_string(reused)}}));
}

asio::awaitable<Result<std::variant<wire::Bundle, wire::Miss>>> CompileService::Lookup(
    wire::LookupRequest request, Caller caller) {
  using Answer = std::variant<wire::Bundle, wire::Miss>;
  if (Status status = CheckNotReserved("lookup.namespace", request.ns); !status.ok()) {
    co_return status.error();
  }
  // One trip to the blocking threads: this is what a warm start waits for.
  co_return co_await RunBlocking(blocking_, [&]() -> Result<Answer> {
    auto found = store_.Find(request.ns, request.request_key, request.have_kernels);
    if (request.probe) return ProbedOf(request, found);
    if (found.ok()) {
      CountHit(request.ns, request.request_key, found->tier, found->compile_seconds);
      observations_->jobs.Add(request.ns, caller.job, {.hits = 1});
      observations_->models.Add(request.ns, found->label, {.hits = 1});
      wire::Bundle bundle;
      bundle.artifact = std::move(found->artifact);
      for (const auto& [digest, blob] : found->blobs) {
        bundle.blobs.push_back({digest, std::string(blob.bytes())});
      }
      bundle.source = std::move(found->tier);
      bundle.compile_seconds = found->compile_seconds;
      if (request.with_request) {
        // Without it the caller has what it needs to run.
        if (auto call = store_.FindCall(request.ns, request.request_key); call.ok()) {
          bundle.request = *std::move(call);
        }
      }
      return Answer(std::move(bundle));
    }
    MissReason reason;
    if (found.error().code == ErrorCode::kDataLoss) {
      reason = {"damaged or evicted", "damaged or evicted: " + found.error().message};
      config_.log.warn(found.error().message, {{"request", caller.request_id}});
    } else if (found.error().code == ErrorCode::kFailedPrecondition) {
      reason = {"signer is unknown", "signer is unknown: " + found.error().message};
      config_.log.warn(found.error().message, {{"request", caller.request_id}});
    } else if (found.error().code == ErrorCode::kNotFound) {
      reason = store_.ExplainMiss(request);
    } else {
      return found.error();
    }
    CountMiss(request.ns, reason.name);
    RememberMiss(request, caller.job, reason);
    wire::Miss miss;
    // Of a compile that is under way, or awaits its graph, nobody needs to send it again unasked.
    miss.graph_known = flights_.Find({request.ns, request.request_key}) != nullptr ||
                       (!request.graph_digest.IsZero() && store_.HasGraph(request.graph_digest));
    miss.reason = std::move(reason.text);
    return Answer(std::move(miss));
  });
}

Result<std::variant<wire::Bundle, wire::Miss>> CompileService::ProbedOf(
    const wire::LookupRequest& request, const Result<StoredArtifact>& found) {
  using Answer = std::variant<wire::Bundle, wire::Miss>;
  if (found.ok()) {
    wire::Bundle bundle;
    bundle.source = found->tier;
    bundle.compile_seconds = found->compile_seconds;
    return Answer(std::move(bundle));
  }
  if (found.error().code != ErrorCode::kNotFound && found.error().code != ErrorCode::kDataLoss) {
    return found.error();
  }
  wire::Miss miss;
  miss.graph_known = !request.graph_digest.IsZero() && store_.HasGraph(request.graph_digest);
  miss.reason = found.error().message;
  return Answer(std::move(miss));
}

Error CompileService::QueueIsFull() const {
  return Unavailable("The compile queue is full: " + std::to_string(config_.queue_limit) +
                     " requests run or wait.");
}

Result<CompileService::Job> CompileService::Admit(const std::string& ns) {
  if (draining_) return Unavailable("The daemon is stopping.");
  if (!admission_->Take(ns)) return QueueIsFull();
  return Job(admission_, ns);
}

// A place in the flight of this key, which is begun if its graph is there. Where nobody has it,
// the flight awaits it: one after the other of those who wait is asked to send it.
asio::awaitable<Result<CompileService::Seat>> CompileService::Board(wire::CompileCall call,
                                                                    const Caller& caller) {
  std::shared_ptr<Flight> flight = flights_.Find(FlightKeyOf(call));
  // Who joins needs no graph, and none is read of it: the key was checked by whoever began.
  if (flight != nullptr && (flight->has_begun() || call.graph.empty())) {
    co_return Seat{std::move(flight), true};
  }
  if (auto known = diagnostics_.Find(call.ns, call.request_key)) {
    statistics_.Add("diagnostics_served");
    co_return *std::move(known);
  }
  if (admission_->IsFull(call.ns))
    co_return QueueIsFull();  // Before anybody sends a graph for nothing.
  const auto is_whole = co_await RunBlocking(blocking_, [&]() -> Result<bool> {
    if (call.graph.empty()) {
      auto stored = store_.FindGraph(call.graph_digest);
      if (!stored.ok()) return false;
      call.graph = *std::move(stored);
    }
    STOKER_RETURN_IF_ERROR(CheckKey(call));
    return true;
  });
  if (!is_whole.ok()) co_return is_whole.error();
  if (*is_whole) co_return Begin(std::move(call), caller);
  flight = flights_.Join(FlightKeyOf(call));
  if (flight == nullptr) co_return SendTheGraph(call);
  co_return Seat{std::move(flight), true};
}

Result<CompileService::Seat> CompileService::Begin(wire::CompileCall call, const Caller& caller) {
  std::optional<Job> job;
  const auto admit = [&]() -> Status {
    STOKER_TRY(Job admitted, Admit(call.ns));
    job.emplace(std::move(admitted));
    return Ok();
  };
  bool first = false;
  STOKER_TRY(auto flight, flights_.Begin(FlightKeyOf(call), admit, &first));
  if (first) {
    asio::co_spawn(asio::make_strand(executor_),
                   RunFlight(std::move(call), caller, flight, *std::move(job)), asio::detached);
  }
  return Seat{std::move(flight), !first};
}

asio::awaitable<Status> CompileService::Compile(wire::CompileCall call, Caller caller,
                                                const Send& send) {
  if (draining_) co_return Unavailable("The daemon is stopping.");
  if (Status status = CheckCall(call); !status.ok()) co_return status;
  wire::CompileCall wanted;  // The graph is the flight's.
  wanted.ns = call.ns;
  wanted.request_key = call.request_key;
  wanted.graph_digest = call.graph_digest;
  wanted.have_kernels = std::move(call.have_kernels);
  wanted.store_only = call.store_only;
  auto seat = co_await Board(std::move(call), caller);
  if (!seat.ok()) co_return seat.error();
  co_return co_await Accompany(*std::move(seat), wanted, send);
}

asio::awaitable<Status> CompileService::Accompany(Seat seat, const wire::CompileCall& call,
                                                  const Send& send) {
  Flight& flight = *seat.flight;
  const auto start = Flight::Clock::now();
  bool sent = false;
  // An error as the answer to the call, or, when that has begun, as its last event.
  const auto end_with = [&](const Error& error) -> asio::awaitable<Status> {
    if (!sent) co_return error;
    co_return co_await send(FrameOf(wire::ErrorReplyOf(error)));
  };
  std::uint64_t seen = 0;
  wire::Progress latest;
  latest.stage = "queued";
  while (true) {
    const auto now = Flight::Clock::now();
    if (draining_ && !flight.has_begun()) {
      co_return co_await end_with(Unavailable("The daemon is stopping."));
    }
    if (flight.AsksForGraph(now)) co_return co_await end_with(SendTheGraph(call));
    const auto turn = flight.next_turn();
    Flight::News news = co_await flight.Next(
        &seen, std::min<Flight::Clock::duration>(kHeartbeat, turn - std::min(now, turn)));
    if (!news.landing) {
      if (news.progress) latest = *std::move(news.progress);
      latest.elapsed_seconds = std::chrono::duration<double>(Flight::Clock::now() - start).count();
      sent = true;
      if (Status status = co_await send(FrameOf(latest)); !status.ok()) co_return status;
      co_await flight.AwaitLanding(kProgressInterval);
      continue;
    }
    if (const auto* failure = std::get_if<CompileFailure>(&*news.landing)) {
      // What is wrong with the request itself is found before anything is reported.
      if (seen == 0 && failure->failure_class == FailureClass::kDiagnostic) {
        co_return co_await end_with(failure->error);
      }
      co_return co_await send(FrameOf(wire::ErrorReplyOf(failure->error)));
    }
    const auto& landed = *std::get<std::shared_ptr<const LandedArtifact>>(*news.landing);
    const bool compiled = landed.tier() == "compiled";
    const std::string source = compiled && seat.joined ? "joined" : landed.tier();
    if (!compiled || seat.joined) {
      CountHit(call.ns, call.request_key, source, landed.compile_seconds());
    }
    if (call.store_only) co_return co_await send(FrameOf(StoredReplyOf(landed, source)));
    // Of a thousand who waited, one has it made.
    auto frame = landed.KeptFrameFor(call.have_kernels, source);
    if (frame == nullptr) {
      frame = co_await RunBlocking(blocking_,
                                   [&] { return landed.FrameFor(call.have_kernels, source); });
    }
    co_return co_await send(*frame);
  }
}

asio::awaitable<void> CompileService::RunFlight(wire::CompileCall call, Caller caller,
                                                std::shared_ptr<Flight> flight, Job admitted) {
  std::optional<Flight::Landing> landing;
  {
    // Given back before the landing: who has an answer finds the place free.
    const Job job = std::move(admitted);
    try {
      landing = co_await Fly(call, caller, *flight);
    } catch (const std::exception& e) {
      landing = CompileFailure{FailureClass::kInternal,
                               Internal(std::string("Unexpected exception: ") + e.what())};
    }
  }
  if (const auto* failure = std::get_if<CompileFailure>(&*landing)) {
    statistics_.Add("compile_failures");
    statistics_.Add("compile_failures.class." + std::string(Name(failure->failure_class)));
    config_.log.warn("compile fails: " + failure->error.message,
                     LogFieldsOf(call, caller.request_id,
                                 {{"class", std::string(Name(failure->failure_class))}}));
    if (failure->failure_class == FailureClass::kDiagnostic) {
      diagnostics_.Remember(call.ns, call.request_key, failure->error);
    }
  }
  flights_.Remove(FlightKeyOf(call));
  flight->Land(*std::move(landing));
}

asio::awaitable<Flight::Landing> CompileService::Fly(const wire::CompileCall& call,
                                                     const Caller& caller, Flight& flight) {
  // Looked for only now that nobody else can start this key: an earlier flight that landed since
  // the client's lookup has published.
  auto found =
      co_await RunBlocking(blocking_, [&] { return store_.Find(call.ns, call.request_key, {}); });
  if (found.ok()) co_return std::make_shared<const LandedArtifact>(*std::move(found));
  co_return co_await CompileAnew(call, caller, flight);
}

asio::awaitable<Flight::Landing> CompileService::CompileAnew(const wire::CompileCall& call,
                                                             const Caller& caller, Flight& flight) {
  wire::WorkerRequest request;
  request.call = call;
  request.request_id = caller.request_id;
  CompileWatch watch(observations_, call, caller);
  ReusedKernels reused;
  std::optional<CompiledArtifact> made;
  WorkerPool::Handlers handlers;
  handlers.find_kernels =
      [&](const wire::KernelQuery& query) -> asio::awaitable<wire::WorkerKernelReply> {
    co_return co_await RunBlocking(blocking_,
                                   [&] { return store_.FindKernels(call.ns, query, reused); });
  };
  handlers.on_place = [&] { watch.OnPlace(); };
  handlers.on_sent = [&] { watch.OnSent(); };
  handlers.on_progress = [&](const wire::Progress& progress) {
    watch.OnProgress(progress);
    flight.Report(progress);
  };
  handlers.accept = [&](wire::WorkerDone done) -> asio::awaitable<Status> {
    watch.OnMade(std::move(done.spans));
    const Status accepted = co_await RunBlocking(blocking_, [&]() -> Status {
      STOKER_TRY(made, store_.Assemble(call, std::move(done), reused));
      return Ok();
    });
    watch.OnChecked();
    co_return accepted;
  };
  if (auto failure = co_await workers_.Run(request, handlers, caller.job)) {
    co_return *std::move(failure);
  }
  flight.Report({"storing", 0, 1, "", made->artifact.compile_seconds});
  const Status published =
      co_await RunBlocking(blocking_, [&] { return store_.Publish(call, *made); });
  watch.OnStored();
  if (!published.ok()) {
    // A full disk costs the next client a compile, and this one nothing.
    made->artifact.unstored = published.error().message;
    statistics_.Add("publish_failures");
    config_.log.warn("storing fails: " + published.error().message,
                     LogFieldsOf(call, caller.request_id));
  }
  CountCompile(call, *made, caller);
  co_return std::make_shared<const LandedArtifact>(std::move(made->artifact));
}

void CompileService::Report(const wire::Report& report) {
  for (const auto& [name, value] : report.counters) {
    if (name == wire::kPreparedFound || name == wire::kPreparedMade) {
      statistics_.Add(name, value);
    } else {
      statistics_.AddLabelled("client.", name, "", value);
    }
  }
  for (const auto& [op, count] : report.fallback_ops) {
    statistics_.AddLabelled("fallback_ops.", op, "", static_cast<double>(count));
  }
}

asio::awaitable<Result<wire::ListReply>> CompileService::List(wire::ListRequest request) {
  auto reply = co_await RunBlocking(blocking_, [&] {
    return request.stale ? store_.ListStale(request.ns, CompilerEpoch()) : store_.List(request);
  });
  if (!reply.ok()) co_return reply;
  for (wire::ListEntry& entry : reply->entries) {
    entry.hits = static_cast<std::uint64_t>(statistics_.Total(HitCounterOf(entry.ns, entry.key)));
  }
  if (request.stale) {
    std::ranges::sort(reply->entries, [](const wire::ListEntry& a, const wire::ListEntry& b) {
      return std::tie(b.hits, a.key) < std::tie(a.hits, b.key);
    });
    const std::size_t limit = request.limit == 0 ? wire::kMaxListEntries : request.limit;
    if (reply->entries.size() > limit) reply->entries.resize(limit);
  }
  co_return reply;
}

}  // namespace stoker
