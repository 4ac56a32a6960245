// CompileService: the daemon's core. Looks requests up, has what is missing compiled by a worker,
// once per key however many ask, stores it, and counts all of it.
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cache/stack/stack.h"
#include "daemon/observe/caller.h"
#include "daemon/observe/observations.h"
#include "daemon/service/failure/diagnostic_memory.h"
#include "daemon/service/flight/flight_table.h"
#include "daemon/service/job_admission.h"
#include "daemon/service/log_fields.h"
#include "daemon/service/statistics/statistics.h"
#include "daemon/service/store/artifact_store.h"
#include "daemon/service/worker/worker_pool.h"
#include "daemon/signing/key_ring.h"
#include "protocol/wire/messages.h"

namespace stoker {

struct ServiceLog {
  using Write = std::function<void(std::string_view message, const LogFields& fields)>;
  Write info;  // Both from any thread.
  Write warn;
};

struct ServiceConfig {
  int queue_limit = 256;  // Jobs of the workers, running and waiting; JobAdmission says more.
  WorkerConfig worker;
  ServiceLog log;
};

class CompileService {
 public:
  // Of a CompileEvent in its frame.
  using Send = std::function<boost::asio::awaitable<Status>(std::string_view frame)>;

  // All references must outlive the service. Its coroutines run on strands.
  CompileService(boost::asio::any_io_executor executor, boost::asio::thread_pool& blocking,
                 CacheStack& stack, Statistics& statistics, const KeyRing& keys,
                 ServiceConfig config);

  boost::asio::awaitable<Result<std::variant<wire::Bundle, wire::Miss>>> Lookup(
      wire::LookupRequest request, Caller caller);

  // Sends progress and then the bundle through `send`. An error that is returned was met before
  // anything was sent; later ones are sent as events. Unavailable: the queue is full or the daemon
  // drains. FailedPrecondition that names compile.graph_digest: this caller is to send the graph.
  boost::asio::awaitable<Status> Compile(wire::CompileCall call, Caller caller, const Send& send);

  void Report(const wire::Report& report);
  boost::asio::awaitable<Result<wire::ListReply>> List(wire::ListRequest request);
  // Compiles anew; a job like a compile.
  boost::asio::awaitable<Result<wire::InspectReply>> Inspect(wire::InspectRequest request,
                                                             Caller caller);
  boost::asio::awaitable<Result<wire::ExplainReply>> Explain(wire::ExplainRequest request);
  // As ArtifactStore's.
  boost::asio::awaitable<Result<std::vector<StoredRequest>>> FindStored(std::string ns,
                                                                        std::string prefix,
                                                                        Visible visible,
                                                                        std::size_t limit);
  // Where the time goes when the stored request is compiled anew, every kernel of it; a job like a
  // compile, of which nothing is stored.
  boost::asio::awaitable<Result<CompileTrace>> TraceAnew(std::string ns, std::string prefix,
                                                         Caller caller);

  // No new jobs from now on; those under way go on.
  void Drain() { draining_ = true; }
  bool draining() const { return draining_; }
  int jobs() const { return admission_->jobs(); }  // Running and waiting.
  int running() const { return workers_.running(); }
  int queue_limit() const { return config_.queue_limit; }
  const WorkerPool& workers() const { return workers_; }
  // What signs artifacts now, the newest first.
  std::vector<PublicKey> signing_keys() const { return keys_.keys()->Announced(); }
  const Observations& observations() const { return *observations_; }

 private:
  using Job = JobAdmission::Job;

  // Who waits for a flight, and whether another one had it begun.
  struct Seat {
    std::shared_ptr<Flight> flight;
    bool joined = false;
  };

  Error QueueIsFull() const;
  Result<Job> Admit(const std::string& ns);
  // A stored request with its graph.
  boost::asio::awaitable<Result<wire::CompileCall>> FindWhole(const std::string& ns,
                                                              const std::string& prefix);
  // Of a lookup that only asks.
  Result<std::variant<wire::Bundle, wire::Miss>> ProbedOf(const wire::LookupRequest& request,
                                                          const Result<StoredArtifact>& found);
  boost::asio::awaitable<Result<Seat>> Board(wire::CompileCall call, const Caller& caller);
  // Of a call with its graph, which belongs to its key.
  Result<Seat> Begin(wire::CompileCall call, const Caller& caller);
  // Tells the caller how the flight goes, to its end.
  boost::asio::awaitable<Status> Accompany(Seat seat, const wire::CompileCall& call,
                                           const Send& send);
  boost::asio::awaitable<void> RunFlight(wire::CompileCall call, Caller caller,
                                         std::shared_ptr<Flight> flight, Job job);
  boost::asio::awaitable<Flight::Landing> Fly(const wire::CompileCall& call, const Caller& caller,
                                              Flight& flight);
  boost::asio::awaitable<Flight::Landing> CompileAnew(const wire::CompileCall& call,
                                                      const Caller& caller, Flight& flight);
  void CountEach(const std::string& ns, std::string_view name, double delta = 1);
  void CountHit(const std::string& ns, const Digest& key, const std::string& source,
                double seconds_saved);
  void CountMiss(const std::string& ns, const std::string& reason);
  void RememberMiss(const wire::LookupRequest& request, const std::string& job,
                    const MissReason& reason);
  void CountCompile(const wire::CompileCall& call, const CompiledArtifact& compiled,
                    const Caller& caller);

  const boost::asio::any_io_executor executor_;
  boost::asio::thread_pool& blocking_;
  Statistics& statistics_;
  const KeyRing& keys_;
  const ServiceConfig config_;
  ArtifactStore store_;
  const std::shared_ptr<Observations> observations_ = std::make_shared<Observations>();
  WorkerPool workers_;
  std::atomic<bool> draining_{false};
  const std::shared_ptr<JobAdmission> admission_;
  FlightTable flights_;
  DiagnosticMemory diagnostics_;
};

}  // namespace stoker
