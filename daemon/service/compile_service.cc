#include "daemon/service/compile_service.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/strand.hpp>
#include <set>
#include <utility>

#include "compiler/compile.h"
#include "daemon/service/blocking.h"
#include "protocol/key/compile_request.h"

namespace stoker {
namespace {

namespace asio = boost::asio;

// Silence is broken this often, so that a client can tell a long compile from a dead daemon.
constexpr std::chrono::seconds kHeartbeat{5};
constexpr std::size_t kShownKeyDigits = 16;

// Entries count their hits under a part of their key, which is enough to tell them apart.
std::string HitCounterOf(const std::string& ns, const Digest& request_key) {
  constexpr std::size_t kDigits = 32;
  return "entry." + ns + "." + request_key.ToHex().substr(0, kDigits) + ".hits";
}

std::string NameOf(const wire::CompileCall& call) {
  return call.request_key.ToHex().substr(0, kShownKeyDigits) + " '" + call.graph_name + "'";
}

// Namespaces in which the daemon keeps what is no artifact.
Status CheckNamespace(std::string_view field, const std::string& ns) {
  if (ns != kKernelNamespace && ns != kBazelNamespace) return Ok();
  return InvalidArgument("Field '" + std::string(field) + "' is '" + ns +
                         "', which the daemon keeps for itself.");
}

}  // namespace

// A place in the queue, given back when it is destroyed.
class CompileService::Job {
 public:
  explicit Job(std::atomic<int>& jobs) : jobs_(&jobs) {}
  Job(Job&& other) noexcept : jobs_(std::exchange(other.jobs_, nullptr)) {}
  Job& operator=(Job&&) = delete;
  ~Job() {
    if (jobs_ != nullptr) jobs_->fetch_sub(1);
  }

 private:
  std::atomic<int>* jobs_;
};

CompileService::CompileService(asio::any_io_executor executor, asio::thread_pool& blocking,
                               CacheStack& stack, Statistics& statistics, const KeyRing& keys,
                               ServiceConfig config)
    : executor_(executor),
      blocking_(blocking),
      statistics_(statistics),
      keys_(keys),
      config_(std::move(config)),
      store_(stack, keys),
      workers_(executor, blocking, config_.worker, config_.log.warn) {}

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

void CompileService::CountCompile(const wire::CompileCall& call, const CompiledArtifact& compiled) {
  const double seconds = compiled.artifact.compile_seconds;
  CountEach(call.ns, "compiles");
  CountEach(call.ns, "compile_seconds", seconds);
  const std::size_t made = compiled.compiled_keys.size();
  const std::size_t reused = compiled.manifest.kernels.size() - made;
  statistics_.Add("kernels.compiled", static_cast<double>(made));
  statistics_.Add("kernels.reused", static_cast<double>(reused));
  statistics_.Add("kind.kernel.compiles", static_cast<double>(made));
  statistics_.Add("kind.kernel.misses", static_cast<double>(made));
  statistics_.Add("kind.kernel.hits", static_cast<double>(reused));
  config_.log.info("compiled " + NameOf(call) + " in " + std::to_string(seconds) + " s: " +
                   std::to_string(made) + " kernels, " + std::to_string(reused) + " reused");
}

// Copies the blobs, which may be many megabytes: off the network threads.
asio::awaitable<wire::Bundle> CompileService::BundleOf(const StoredArtifact& artifact,
                                                       std::vector<Digest> held,
                                                       std::string source) {
  co_return co_await RunBlocking(blocking_, [&] {
    const std::set<Digest> skip(held.begin(), held.end());
    wire::Bundle bundle;
    bundle.artifact = artifact.artifact;
    for (const auto& [digest, blob] : artifact.blobs) {
      if (!skip.contains(digest)) bundle.blobs.push_back({digest, std::string(blob.bytes())});
    }
    bundle.source = std::move(source);
    bundle.compile_seconds = artifact.compile_seconds;
    return bundle;
  });
}

asio::awaitable<Result<std::variant<wire::Bundle, wire::Miss>>> CompileService::Lookup(
    wire::LookupRequest request) {
  using Answer = std::variant<wire::Bundle, wire::Miss>;
  if (Status status = CheckNamespace("lookup.namespace", request.ns); !status.ok()) {
    co_return status.error();
  }
  // One trip to the blocking threads: this is what a warm start waits for.
  co_return co_await RunBlocking(blocking_, [&]() -> Result<Answer> {
    auto found = store_.Find(request.ns, request.request_key, request.have_kernels);
    if (found.ok()) {
      CountHit(request.ns, request.request_key, found->tier, found->compile_seconds);
      wire::Bundle bundle;
      bundle.artifact = std::move(found->artifact);
      for (const auto& [digest, blob] : found->blobs) {
        bundle.blobs.push_back({digest, std::string(blob.bytes())});
      }
      bundle.source = std::move(found->tier);
      bundle.compile_seconds = found->compile_seconds;
      return Answer(std::move(bundle));
    }
    MissReason reason;
    if (found.error().code == ErrorCode::kDataLoss) {
      reason = {"damaged or evicted", "damaged or evicted: " + found.error().message};
      config_.log.warn(found.error().message);
    } else if (found.error().code == ErrorCode::kFailedPrecondition) {
      reason = {"signer is unknown", "signer is unknown: " + found.error().message};
      config_.log.warn(found.error().message);
    } else if (found.error().code == ErrorCode::kNotFound) {
      reason = store_.ExplainMiss(request);
    } else {
      return found.error();
    }
    CountMiss(request.ns, reason.name);
    wire::Miss miss;
    // Of a compile that is under way nobody needs to send it again.
    miss.graph_known = UnderWay(request.ns, request.request_key) != nullptr ||
                       (!request.graph_digest.IsZero() && store_.HasGraph(request.graph_digest));
    miss.reason = std::move(reason.text);
    return Answer(std::move(miss));
  });
}

// The call with its graph, verified: what a worker and the store may rely on.
asio::awaitable<Result<wire::CompileCall>> CompileService::Complete(wire::CompileCall call) {
  if (Status status = CheckNamespace("compile.namespace", call.ns); !status.ok()) {
    co_return status.error();
  }
  if (call.compiler_epoch != CompilerEpoch()) {
    co_return FailedPrecondition("Field 'compile.compiler_epoch' is '" + call.compiler_epoch +
                                 "'; this daemon compiles with '" + CompilerEpoch() + "'.");
  }
  if (call.target.kind() != TargetKind::kCpu) {
    co_return Unimplemented("Field 'compile.target' is '" + call.target.ToString() +
                            "'; this daemon compiles for CPUs.");
  }
  co_return co_await RunBlocking(blocking_, [&]() -> Result<wire::CompileCall> {
    if (call.graph.empty()) {
      auto graph = store_.FindGraph(call.graph_digest);
      if (!graph.ok()) {
        return FailedPrecondition("Field 'compile.graph_digest' names " +
                                  call.graph_digest.ToHex() +
                                  ", which is not stored: send the graph.");
      }
      call.graph = *std::move(graph);
    }
    auto graph = DecodeGraph(call.graph);
    if (!graph.ok()) return graph.error().WithContext("Field 'compile.graph'");
    call.graph_digest = graph->digest();
    const Digest key =
        KeyOf(graph->digest(), call.signature, call.target, call.options, call.compiler_epoch)
            .digest;
    if (key != call.request_key) {
      return FailedPrecondition("Field 'compile.request_key' is " + call.request_key.ToHex() +
                                "; this request's key is " + key.ToHex() + ".");
    }
    if (Canonical(call.options, *graph, call.target) != call.options) {
      return InvalidArgument(
          "Field 'options.numerics' is " + std::string(Name(call.options.numerics)) +
          ", which no compile of this graph for " + call.target.ToString() + " reads.");
    }
    return std::move(call);
  });
}

Result<CompileService::Job> CompileService::Admit() {
  if (draining_) return Unavailable("The daemon is stopping.");
  if (jobs_.fetch_add(1) < config_.queue_limit) return Job(jobs_);
  jobs_.fetch_sub(1);
  return Unavailable("The compile queue is full: " + std::to_string(config_.queue_limit) +
                     " requests run or wait.");
}

// The flight of this key, started unless it is under way.
Result<std::shared_ptr<Flight>> CompileService::Board(const wire::CompileCall& call, bool* joined) {
  std::unique_lock lock(mutex_);
  const auto key = std::make_pair(call.ns, call.request_key);
  const auto it = flights_.find(key);
  *joined = it != flights_.end();
  if (*joined) return it->second;
  STOKER_TRY(Job job, Admit());
  auto flight = std::make_shared<Flight>();
  flights_.emplace(key, flight);
  lock.unlock();
  asio::co_spawn(asio::make_strand(executor_), RunFlight(call, flight, std::move(job)),
                 asio::detached);
  return flight;
}

std::shared_ptr<Flight> CompileService::UnderWay(const std::string& ns, const Digest& key) {
  const std::lock_guard lock(mutex_);
  const auto it = flights_.find({ns, key});
  return it == flights_.end() ? nullptr : it->second;
}

asio::awaitable<Status> CompileService::Compile(wire::CompileCall call, const Send& send) {
  if (draining_) co_return Unavailable("The daemon is stopping.");
  // Who joins needs no graph, and none is decoded for it: its key was checked by whoever began.
  std::shared_ptr<Flight> flight = UnderWay(call.ns, call.request_key);
  bool joined = flight != nullptr;
  if (!joined) {
    auto completed = co_await Complete(std::move(call));
    if (!completed.ok()) co_return completed.error();
    call = *std::move(completed);
    auto boarded = Board(call, &joined);
    if (!boarded.ok()) co_return boarded.error();
    flight = *std::move(boarded);
  }

  const auto start = std::chrono::steady_clock::now();
  std::uint64_t seen = 0;
  wire::Progress latest;
  latest.stage = "queued";
  while (true) {
    Flight::News news = co_await flight->Next(&seen, kHeartbeat);
    if (!news.landing) {
      if (news.progress) latest = *std::move(news.progress);
      latest.elapsed_seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      if (Status sent = co_await send(latest); !sent.ok()) co_return sent;
      continue;
    }
    if (!news.landing->ok()) co_return co_await send(wire::ErrorReplyOf(news.landing->error()));
    const StoredArtifact& artifact = ***news.landing;
    const bool compiled = artifact.tier == "compiled";
    const std::string source = compiled && joined ? "joined" : artifact.tier;
    if (!compiled || joined) CountHit(call.ns, call.request_key, source, artifact.compile_seconds);
    wire::Bundle bundle = co_await BundleOf(artifact, call.have_kernels, source);
    co_return co_await send(std::move(bundle));
  }
}

asio::awaitable<void> CompileService::RunFlight(wire::CompileCall call,
                                                std::shared_ptr<Flight> flight, Job admitted) {
  std::optional<Flight::Landing> landing;
  {
    // Given back before the landing: who has an answer finds the place free.
    const Job job = std::move(admitted);
    try {
      landing = co_await Fly(call, *flight);
    } catch (const std::exception& e) {
      landing = Internal(std::string("Unexpected exception: ") + e.what());
    }
  }
  if (!landing->ok()) {
    statistics_.Add("compile_failures");
    config_.log.warn("compile of " + NameOf(call) + " fails: " + landing->error().message);
  }
  {
    const std::lock_guard lock(mutex_);
    flights_.erase({call.ns, call.request_key});
  }
  flight->Land(*std::move(landing));
}

asio::awaitable<Flight::Landing> CompileService::Fly(const wire::CompileCall& call,
                                                     Flight& flight) {
  // Looked for only now that nobody else can start this key: an earlier flight that landed since
  // the client's lookup has published.
  auto found =
      co_await RunBlocking(blocking_, [&] { return store_.Find(call.ns, call.request_key, {}); });
  if (found.ok()) co_return std::make_shared<const StoredArtifact>(*std::move(found));

  wire::WorkerRequest request;
  request.call = call;
  ReusedKernels reused;
  const WorkerPool::FindKernels find_kernels =
      [&](const wire::KernelQuery& query) -> asio::awaitable<wire::WorkerKernelReply> {
    co_return co_await RunBlocking(blocking_, [&] { return store_.FindKernels(query, reused); });
  };
  auto done = co_await workers_.Run(
      request, find_kernels, [&](const wire::Progress& progress) { flight.Report(progress); });
  if (!done.ok()) co_return done.error();
  flight.Report({"storing", 0, 1, "", done->compile_seconds});
  auto compiled = co_await RunBlocking(blocking_, [&]() -> Result<CompiledArtifact> {
    STOKER_TRY(CompiledArtifact made, store_.Assemble(call, *std::move(done), reused));
    if (const Status status = store_.Publish(call, made); !status.ok()) {
      // A full disk costs the next client a compile, and this one nothing.
      statistics_.Add("publish_failures");
      config_.log.warn("storing " + NameOf(call) + " fails: " + status.error().message);
    }
    return made;
  });
  if (!compiled.ok()) co_return compiled.error();
  CountCompile(call, *compiled);
  co_return std::make_shared<const StoredArtifact>(std::move(compiled->artifact));
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
  auto reply = co_await RunBlocking(blocking_, [&] { return store_.List(request); });
  if (!reply.ok()) co_return reply;
  for (wire::ListEntry& entry : reply->entries) {
    entry.hits = static_cast<std::uint64_t>(statistics_.Total(HitCounterOf(entry.ns, entry.key)));
  }
  co_return reply;
}

asio::awaitable<Result<wire::ExplainReply>> CompileService::Explain(wire::ExplainRequest request) {
  co_return co_await RunBlocking(blocking_, [&] { return store_.Explain(request); });
}

asio::awaitable<Result<wire::InspectReply>> CompileService::Inspect(wire::InspectRequest request) {
  auto admitted = Admit();
  if (!admitted.ok()) co_return admitted.error();
  const Job job = *std::move(admitted);
  auto call = co_await RunBlocking(blocking_, [&]() -> Result<wire::CompileCall> {
    STOKER_TRY(wire::CompileCall stored, store_.FindRequest(request.ns, request.key_prefix));
    STOKER_TRY(stored.graph, store_.FindGraph(stored.graph_digest));
    return stored;
  });
  if (!call.ok()) co_return call.error();
  wire::WorkerRequest worker_request;
  worker_request.call = *std::move(call);
  worker_request.inspect_sections = std::move(request.sections);
  if (worker_request.inspect_sections.empty()) {
    worker_request.inspect_sections = {"graph", "groups", "loops", "plan", "llvm", "asm"};
  }
  const WorkerPool::FindKernels no_kernels =
      [](const wire::KernelQuery&) -> asio::awaitable<wire::WorkerKernelReply> {
    co_return wire::WorkerKernelReply{};
  };
  auto done = co_await workers_.Run(worker_request, no_kernels, [](const wire::Progress&) {});
  if (!done.ok()) co_return done.error();
  co_return wire::InspectReply{std::move(done->sections)};
}

}  // namespace stoker
