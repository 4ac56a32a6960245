// CompileService: the daemon's core. Looks requests up, has what is missing compiled by a worker,
// once per key however many ask, stores it, and counts all of it.
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cache/stack.h"
#include "daemon/service/artifact_store.h"
#include "daemon/service/flight.h"
#include "daemon/service/statistics.h"
#include "daemon/service/worker_pool.h"
#include "daemon/signing/key_ring.h"
#include "protocol/wire/messages.h"

namespace stoker {

struct ServiceLog {
  std::function<void(std::string_view)> info;  // Both from any thread.
  std::function<void(std::string_view)> warn;
};

struct ServiceConfig {
  int queue_limit = 256;  // Jobs of the workers, running and waiting; one more is refused.
  WorkerConfig worker;
  ServiceLog log;
};

class CompileService {
 public:
  using Send = std::function<boost::asio::awaitable<Status>(const wire::CompileEvent&)>;

  // All references must outlive the service. Its coroutines run on strands.
  CompileService(boost::asio::any_io_executor executor, boost::asio::thread_pool& blocking,
                 CacheStack& stack, Statistics& statistics, const KeyRing& keys,
                 ServiceConfig config);

  boost::asio::awaitable<Result<std::variant<wire::Bundle, wire::Miss>>> Lookup(
      wire::LookupRequest request);

  // Sends progress and then the bundle through `send`. An error that is returned was met before
  // anything was sent; later ones are sent as events. Unavailable: the queue is full or the daemon
  // drains.
  boost::asio::awaitable<Status> Compile(wire::CompileCall call, const Send& send);

  void Report(const wire::Report& report);
  boost::asio::awaitable<Result<wire::ListReply>> List(wire::ListRequest request);
  // Compiles anew; a job like a compile.
  boost::asio::awaitable<Result<wire::InspectReply>> Inspect(wire::InspectRequest request);
  boost::asio::awaitable<Result<wire::ExplainReply>> Explain(wire::ExplainRequest request);

  // No new jobs from now on; those under way go on.
  void Drain() { draining_ = true; }
  bool draining() const { return draining_; }
  int jobs() const { return jobs_; }  // Running and waiting.
  int running() const { return workers_.running(); }
  int queue_limit() const { return config_.queue_limit; }
  // What signs artifacts now, the newest first.
  std::vector<PublicKey> signing_keys() const { return keys_.keys()->Announced(); }

 private:
  class Job;

  Result<Job> Admit();
  boost::asio::awaitable<Result<wire::CompileCall>> Complete(wire::CompileCall call);
  // The flight of this key, or null.
  std::shared_ptr<Flight> UnderWay(const std::string& ns, const Digest& key);
  Result<std::shared_ptr<Flight>> Board(const wire::CompileCall& call, bool* joined);
  boost::asio::awaitable<void> RunFlight(wire::CompileCall call, std::shared_ptr<Flight> flight,
                                         Job job);
  boost::asio::awaitable<Flight::Landing> Fly(const wire::CompileCall& call, Flight& flight);
  boost::asio::awaitable<wire::Bundle> BundleOf(const StoredArtifact& artifact,
                                                std::vector<Digest> held, std::string source);
  void CountEach(const std::string& ns, std::string_view name, double delta = 1);
  void CountHit(const std::string& ns, const Digest& key, const std::string& source,
                double seconds_saved);
  void CountMiss(const std::string& ns, const std::string& reason);
  void CountCompile(const wire::CompileCall& call, const CompiledArtifact& compiled);

  const boost::asio::any_io_executor executor_;
  boost::asio::thread_pool& blocking_;
  Statistics& statistics_;
  const KeyRing& keys_;
  const ServiceConfig config_;
  ArtifactStore store_;
  WorkerPool workers_;
  std::atomic<bool> draining_{false};
  std::atomic<int> jobs_{0};
  std::mutex mutex_;  // Guards what follows.
  std::map<std::pair<std::string, Digest>, std::shared_ptr<Flight>> flights_;
};

}  // namespace stoker
