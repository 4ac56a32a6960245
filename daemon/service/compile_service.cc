#include "daemon/service/compile_service.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/strand.hpp>

#include "compiler/compile.h"
#include "daemon/service/blocking.h"
#include "protocol/key/compile_request.h"

namespace stoker {
namespace {

namespace asio = boost::asio;

// Silence is broken this often, so that a client can tell a long compile from a dead daemon.
constexpr std::chrono::seconds kHeartbeat{5};

// The name under which a miss is counted: the first words of its explanation, without values.
std::string ReasonName(const std::string& explanation) {
  if (explanation.starts_with("graph")) return "graph is new";
  const std::size_t end = explanation.find_first_of(":");
  const std::string head = explanation.substr(0, end);
  return head.empty() ? "no entry" : head;
}

}  // namespace

CompileService::CompileService(asio::any_io_executor executor, asio::thread_pool& blocking,
                               CacheStack& stack, Statistics& statistics, ServiceConfig config)
    : executor_(executor),
      blocking_(blocking),
      statistics_(statistics),
      config_(std::move(config)),
      store_(stack),
      workers_(executor, config_.worker) {}

void CompileService::CountHit(const std::string& ns, const std::string& source,
                              double seconds_saved) {
  for (const std::string& prefix :
       {std::string(), "ns." + ns + ".", std::string("kind.artifact.")}) {
    statistics_.Add(prefix + "hits");
    statistics_.Add(prefix + "seconds_saved", seconds_saved);
  }
  statistics_.Add("hits." + source);
}

void CompileService::CountMiss(const std::string& ns, const std::string& reason) {
  for (const std::string& prefix :
       {std::string(), "ns." + ns + ".", std::string("kind.artifact.")}) {
    statistics_.Add(prefix + "misses");
  }
  statistics_.Add("misses.reason." + reason);
}

asio::awaitable<Result<wire::Bundle>> CompileService::BundleOf(StoredArtifact artifact,
                                                               std::vector<Digest> held,
                                                               std::string source) {
  co_return co_await RunBlocking(blocking_, [&]() -> Result<wire::Bundle> {
    wire::Bundle bundle;
    STOKER_TRY(bundle.blobs, store_.Blobs(artifact, held));
    bundle.artifact = std::move(artifact.artifact);
    bundle.source = std::move(source);
    bundle.compile_seconds = artifact.compile_seconds;
    return bundle;
  });
}

asio::awaitable<Result<std::variant<wire::Bundle, wire::Miss>>> CompileService::Lookup(
    wire::LookupRequest request) {
  using Answer = std::variant<wire::Bundle, wire::Miss>;
  auto found =
      co_await RunBlocking(blocking_, [&] { return store_.Find(request.ns, request.request_key); });
  std::string damage;
  if (found.ok()) {
    const std::string tier = found->tier;
    auto bundle = co_await BundleOf(*std::move(found), request.have_kernels, tier);
    if (bundle.ok()) {
      CountHit(request.ns, tier, bundle->compile_seconds);
      co_return Answer(*std::move(bundle));
    }
    if (bundle.error().code != ErrorCode::kDataLoss) co_return bundle.error();
    damage = bundle.error().message;
  } else if (found.error().code == ErrorCode::kDataLoss) {
    damage = found.error().message;
  } else if (found.error().code != ErrorCode::kNotFound) {
    co_return found.error();
  }

  wire::Miss miss;
  co_await RunBlocking(blocking_, [&] {
    miss.graph_known = !request.graph_digest.IsZero() && store_.HasGraph(request.graph_digest);
    miss.reason = damage.empty() ? store_.ExplainMiss(request) : "damaged or evicted: " + damage;
    return true;
  });
  CountMiss(request.ns, ReasonName(miss.reason));
  co_return Answer(std::move(miss));
}

// The call with its graph, verified: what a worker and the store may rely on.
asio::awaitable<Result<wire::CompileCall>> CompileService::Complete(wire::CompileCall call) {
  if (call.compiler_epoch != CompilerEpoch()) {
    co_return FailedPrecondition("Field 'compile_call.compiler_epoch' is '" + call.compiler_epoch +
                                 "'; this daemon compiles with '" + CompilerEpoch() + "'.");
  }
  if (call.target.kind() != TargetKind::kCpu) {
    co_return Unimplemented("Field 'compile_call.target' is '" + call.target.ToString() +
                            "'; this daemon compiles for CPUs.");
  }
  co_return co_await RunBlocking(blocking_, [&]() -> Result<wire::CompileCall> {
    if (call.graph.empty()) {
      auto graph = store_.FindGraph(call.graph_digest);
      if (!graph.ok()) {
        return FailedPrecondition("Field 'compile_call.graph_digest' names " +
                                  call.graph_digest.ToHex() +
                                  ", which is not stored: send the graph.");
      }
      call.graph = *std::move(graph);
    }
    auto graph = DecodeGraph(call.graph);
    if (!graph.ok()) return graph.error().WithContext("Field 'compile_call.graph'");
    call.graph_digest = graph->digest();
    const Digest key =
        KeyOf(graph->digest(), call.signature, call.target, call.options, call.compiler_epoch)
            .digest;
    if (key != call.request_key) {
      return FailedPrecondition("Field 'compile_call.request_key' is " + call.request_key.ToHex() +
                                "; this request's key is " + key.ToHex() + ".");
    }
    return std::move(call);
  });
}

asio::awaitable<Status> CompileService::Compile(wire::CompileCall received, const Send& send) {
  if (draining_) co_return Unavailable("The daemon is stopping.");
  auto completed = co_await Complete(std::move(received));
  if (!completed.ok()) co_return completed.error();
  wire::CompileCall call = *std::move(completed);
  const std::vector<Digest> held = call.have_kernels;
  const std::string ns = call.ns;

  // Somebody may have finished it since the client looked.
  auto found = co_await RunBlocking(blocking_, [&] { return store_.Find(ns, call.request_key); });
  if (found.ok()) {
    const std::string tier = found->tier;
    auto bundle = co_await BundleOf(*std::move(found), held, tier);
    if (bundle.ok()) {
      CountHit(ns, tier, bundle->compile_seconds);
      co_return co_await send(*std::move(bundle));
    }
  }

  std::shared_ptr<Flight> flight;
  bool joined = true;
  {
    const std::lock_guard lock(mutex_);
    const auto key = std::make_pair(ns, call.request_key);
    if (const auto it = flights_.find(key); it != flights_.end()) {
      flight = it->second;
    } else {
      if (num_flights_ >= config_.queue_limit) {
        co_return Unavailable("The compile queue is full: " + std::to_string(config_.queue_limit) +
                              " requests wait.");
      }
      joined = false;
      flight = std::make_shared<Flight>();
      flights_.emplace(key, flight);
      num_flights_.fetch_add(1);
    }
  }
  if (!joined) {
    asio::co_spawn(asio::make_strand(executor_), RunFlight(std::move(call), flight),
                   asio::detached);
  }

  std::size_t seen = 0;
  wire::Progress latest;
  latest.stage = "queued";
  const auto start = std::chrono::steady_clock::now();
  while (true) {
    Flight::News news = co_await flight->Next(&seen, kHeartbeat);
    if (news.progress.empty() && !news.result) news.progress.push_back(latest);
    for (wire::Progress& progress : news.progress) {
      latest = progress;
      latest.elapsed_seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      if (Status sent = co_await send(latest); !sent.ok()) co_return sent;
    }
    if (!news.result) continue;
    if (!news.result->ok()) {
      co_return co_await send(wire::ErrorReplyOf(news.result->error()));
    }
    const double seconds = (*news.result)->compile_seconds;
    auto bundle = co_await BundleOf(**std::move(news.result), held, joined ? "joined" : "compiled");
    if (!bundle.ok()) co_return co_await send(wire::ErrorReplyOf(bundle.error()));
    if (joined) CountHit(ns, "joined", seconds);
    co_return co_await send(*std::move(bundle));
  }
}

asio::awaitable<void> CompileService::RunFlight(wire::CompileCall call,
                                                std::shared_ptr<Flight> flight) {
  std::optional<Result<StoredArtifact>> result;
  try {
    result = co_await Fly(call, *flight);
  } catch (const std::exception& e) {
    result = Internal(std::string("Unexpected exception: ") + e.what());
  }
  if (!result->ok()) statistics_.Add("compile_failures");
  {
    const std::lock_guard lock(mutex_);
    flights_.erase({call.ns, call.request_key});
    num_flights_.fetch_sub(1);
  }
  flight->Land(*std::move(result));
}

asio::awaitable<Result<StoredArtifact>> CompileService::Fly(const wire::CompileCall& call,
                                                            Flight& flight) {
  wire::WorkerRequest request;
  request.call = call;
  std::size_t reused = 0;
  const WorkerPool::FindKernels find_kernels =
      [&](const wire::KernelQuery& query) -> asio::awaitable<wire::WorkerKernelReply> {
    wire::WorkerKernelReply reply =
        co_await RunBlocking(blocking_, [&] { return store_.FindKernels(query); });
    for (const auto& known : reply.kernels) reused += known.blob.IsZero() ? 0 : 1;
    co_return reply;
  };
  auto done = co_await workers_.Run(
      request, find_kernels, [&](const wire::Progress& progress) { flight.Report(progress); });
  if (!done.ok()) co_return done.error();
  flight.Report({"storing", 0, 1, "", done->compile_seconds});
  auto stored = co_await RunBlocking(blocking_, [&] { return store_.Publish(call, *done); });
  if (!stored.ok()) co_return stored.error();
  for (const std::string& prefix :
       {std::string(), "ns." + call.ns + ".", std::string("kind.artifact.")}) {
    statistics_.Add(prefix + "compiles");
    statistics_.Add(prefix + "compile_seconds", done->compile_seconds);
  }
  statistics_.Add("kernels.compiled", static_cast<double>(done->kernels.size()));
  statistics_.Add("kernels.reused", static_cast<double>(reused));
  statistics_.Add("kind.kernel.compiles", static_cast<double>(done->kernels.size()));
  statistics_.Add("kind.kernel.misses", static_cast<double>(done->kernels.size()));
  statistics_.Add("kind.kernel.hits", static_cast<double>(reused));
  co_return stored;
}

void CompileService::Report(const wire::Report& report) {
  for (const auto& [name, value] : report.counters) statistics_.Add("client." + name, value);
  for (const auto& [op, count] : report.fallback_ops) {
    statistics_.Add("fallback_ops." + op, static_cast<double>(count));
  }
}

asio::awaitable<Result<wire::ListReply>> CompileService::List(wire::ListRequest request) {
  co_return co_await RunBlocking(blocking_, [&] { return store_.List(request); });
}

asio::awaitable<Result<wire::ExplainReply>> CompileService::Explain(wire::ExplainRequest request) {
  co_return co_await RunBlocking(blocking_, [&] { return store_.Explain(request); });
}

asio::awaitable<Result<wire::InspectReply>> CompileService::Inspect(wire::InspectRequest request) {
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
