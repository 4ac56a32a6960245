// What CompileService answers to who looks into requests: explanations, inspections, traces.
#include <utility>

#include "daemon/observe/compile_watch.h"
#include "daemon/service/compile_service.h"
#include "daemon/service/waiting/blocking.h"

namespace stoker {
namespace {

namespace asio = boost::asio;

// Of work that neither stores nor reuses anything.
WorkerPool::Handlers HandlersOf(CompileWatch& watch) {
  WorkerPool::Handlers handlers;
  handlers.on_place = [&] { watch.OnPlace(); };
  handlers.on_sent = [&] { watch.OnSent(); };
  handlers.on_progress = [&](const wire::Progress& progress) { watch.OnProgress(progress); };
  handlers.find_kernels = [](const wire::KernelQuery&) -> asio::awaitable<wire::WorkerKernelReply> {
    co_return wire::WorkerKernelReply{};
  };
  return handlers;
}

}  // namespace

asio::awaitable<Result<wire::ExplainReply>> CompileService::Explain(wire::ExplainRequest request) {
  co_return co_await RunBlocking(blocking_, [&] { return store_.Explain(request); });
}

asio::awaitable<Result<wire::CompileCall>> CompileService::FindWhole(const std::string& ns,
                                                                     const std::string& prefix) {
  co_return co_await RunBlocking(blocking_, [&]() -> Result<wire::CompileCall> {
    STOKER_TRY(wire::CompileCall stored, store_.FindRequest(ns, prefix));
    STOKER_TRY(stored.graph, store_.FindGraph(stored.graph_digest));
    return stored;
  });
}

asio::awaitable<Result<wire::InspectReply>> CompileService::Inspect(wire::InspectRequest request,
                                                                    Caller caller) {
  auto admitted = Admit(request.ns);
  if (!admitted.ok()) co_return admitted.error();
  const Job job = *std::move(admitted);
  auto call = co_await FindWhole(request.ns, request.key_prefix);
  if (!call.ok()) co_return call.error();
  CompileWatch watch(observations_, *call, caller);
  wire::WorkerRequest worker_request;
  worker_request.call = *std::move(call);
  worker_request.request_id = caller.request_id;
  worker_request.inspect_sections = std::move(request.sections);
  if (worker_request.inspect_sections.empty()) {
    worker_request.inspect_sections = {"graph", "groups", "loops", "schedules",
                                       "plan",  "llvm",   "asm"};
  }
  wire::InspectReply reply;
  WorkerPool::Handlers handlers = HandlersOf(watch);
  handlers.accept = [&](wire::WorkerDone done) -> asio::awaitable<Status> {
    reply.sections = std::move(done.sections);
    co_return Ok();
  };
  if (auto failure = co_await workers_.Run(worker_request, handlers, caller.job)) {
    co_return std::move(failure->error);
  }
  co_return reply;
}

asio::awaitable<Result<CompileTrace>> CompileService::TraceAnew(std::string ns, std::string prefix,
                                                                Caller caller) {
  auto admitted = Admit(ns);
  if (!admitted.ok()) co_return admitted.error();
  const Job job = *std::move(admitted);
  auto call = co_await FindWhole(ns, prefix);
  if (!call.ok()) co_return call.error();
  CompileWatch watch(observations_, *call, caller);
  wire::WorkerRequest request;
  request.call = *std::move(call);
  request.request_id = caller.request_id;
  WorkerPool::Handlers handlers = HandlersOf(watch);
  handlers.accept = [&](wire::WorkerDone done) -> asio::awaitable<Status> {
    watch.OnMade(std::move(done.spans));
    watch.OnChecked();  // Nobody gets what it made.
    co_return Ok();
  };
  if (auto failure = co_await workers_.Run(request, handlers, caller.job)) {
    co_return std::move(failure->error);
  }
  co_return std::move(watch).Take();
}

asio::awaitable<Result<std::vector<StoredRequest>>> CompileService::FindStored(std::string ns,
                                                                               std::string prefix,
                                                                               Visible visible,
                                                                               std::size_t limit) {
  co_return co_await RunBlocking(blocking_,
                                 [&] { return store_.FindStored(ns, prefix, visible, limit); });
}

}  // namespace stoker
