#include "daemon/service/worker/worker_pool.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <mutex>
#include <thread>
#include <utility>
#include <variant>

#include "daemon/service/waiting/signal.h"
#include "daemon/service/worker/compile_queue.h"
#include "daemon/service/worker/worker_sandbox.h"
#include "protocol/wire/limits.h"

namespace stoker {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

std::string SecondsText(std::chrono::milliseconds time) {
  std::string text = std::to_string(std::chrono::duration<double>(time).count());
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text + " s";
}

std::chrono::seconds CpuTimeOf(std::chrono::milliseconds time_limit) {
  const auto cores = std::max(1U, std::thread::hardware_concurrency());
  return std::chrono::ceil<std::chrono::seconds>(time_limit * cores);
}

struct Attempt {
  std::optional<CompileFailure> failure;
  std::optional<WorkerEnd> end;  // Why the worker serves nobody any more.
};

using Answer = std::variant<wire::WorkerDone, Error>;

// What becomes of a worker that answers with this error.
std::optional<WorkerEnd> EndAfter(FailureClass failure_class) {
  switch (failure_class) {
    case FailureClass::kDiagnostic:
      return std::nullopt;
    case FailureClass::kMemory:  // Its memory is full or in pieces.
      return WorkerEnd::kMemory;
    case FailureClass::kTimeout:
      return WorkerEnd::kTimeout;
    case FailureClass::kCrash:
      return WorkerEnd::kCrash;
    case FailureClass::kHost:  // The next one may find what has been installed.
      return WorkerEnd::kHost;
    case FailureClass::kIo:
    case FailureClass::kInternal:
      return WorkerEnd::kUntrusted;
  }
  return WorkerEnd::kUntrusted;
}

Attempt Failed(FailureClass failure_class, Error error) {
  return {CompileFailure{failure_class, std::move(error)}, EndAfter(failure_class)};
}

}  // namespace

struct WorkerPool::State {
  using Worker = std::shared_ptr<WorkerProcess>;

  State(asio::any_io_executor e, asio::thread_pool& b, WorkerConfig c, Log l)
      : executor(std::move(e)),
        blocking(b),
        config(std::move(c)),
        log(std::move(l)),
        queue(config.max_workers) {}

  // An idle worker that lives and has met no other namespace, or a new one.
  Result<Worker> Take(const std::string& name_space) {
    const auto fits = [&](const Worker& worker) {
      return worker->name_space.empty() || worker->name_space == name_space;
    };
    while (true) {
      Worker worker;
      {
        const std::lock_guard lock(mutex);
        const auto it = std::find_if(idle.rbegin(), idle.rend(), fits);
        if (it == idle.rend()) break;
        worker = std::move(*it);
        idle.erase(std::next(it).base());
      }
      if (!worker->Alive()) continue;
      worker->name_space = name_space;
      return worker;
    }
    STOKER_TRY(Worker worker, WorkerProcess::Start(executor, config.program));
    worker->name_space = name_space;
    return worker;
  }

  // Keeps it for the next request. The one that this displaces, or null.
  Worker Keep(Worker worker) {
    const std::lock_guard lock(mutex);
    idle.push_back(std::move(worker));
    if (idle.size() <= static_cast<std::size_t>(config.max_workers)) return nullptr;
    Worker displaced = std::move(idle.front());
    idle.erase(idle.begin());
    return displaced;
  }

  // Says aloud, once, what this host does not allow.
  void NoteReady(const WorkerProcess& worker) {
    {
      const std::lock_guard lock(mutex);
      if (std::exchange(ready, worker.ready())) return;
    }
    std::string missing;
    for (const std::string& protection : MissingProtections(worker.ready().protections)) {
      missing += (missing.empty() ? "" : ", ") + protection;
    }
    if (!missing.empty()) log("This host lets compile workers run without: " + missing + ".", "");
  }

  // What the worker answers. nullopt: it is gone, or says what no worker of ours says.
  asio::awaitable<std::optional<Answer>> Converse(WorkerProcess& worker,
                                                  const wire::WorkerRequest& request,
                                                  const Handlers& handlers);
  asio::awaitable<Attempt> RunOn(Worker worker, const wire::WorkerRequest& request,
                                 const Handlers& handlers);

  const asio::any_io_executor executor;
  asio::thread_pool& blocking;
  const WorkerConfig config;
  const Log log;
  WorkerMetrics metrics;
  std::mutex mutex;          // Guards what follows.
  std::vector<Worker> idle;  // The latest used last.
  std::optional<wire::WorkerReady> ready;
  std::atomic<int> running{0};
  CompileQueue queue;
  Signal freed;
};

WorkerPool::WorkerPool(asio::any_io_executor executor, asio::thread_pool& blocking,
                       WorkerConfig config, Log log)
    : state_(std::make_shared<State>(std::move(executor), blocking, std::move(config),
                                     std::move(log))) {
  auto worker = WorkerProcess::Start(state_->executor, state_->config.program);
  if (!worker.ok()) {
    state_->log(worker.error().message, "");
    return;
  }
  state_->idle.push_back(*worker);
  const auto greet = [](std::shared_ptr<State> state,
                        State::Worker first) -> asio::awaitable<void> {
    if (co_await first->Greet()) state->NoteReady(*first);
  };
  asio::co_spawn(asio::make_strand(state_->executor), greet(state_, *std::move(worker)),
                 asio::detached);
}

WorkerPool::~WorkerPool() = default;

int WorkerPool::running() const { return state_->running; }

const WorkerMetrics& WorkerPool::metrics() const { return state_->metrics; }

std::optional<wire::WorkerReady> WorkerPool::ready() const {
  const std::lock_guard lock(state_->mutex);
  return state_->ready;
}

asio::awaitable<std::optional<Answer>> WorkerPool::State::Converse(
    WorkerProcess& worker, const wire::WorkerRequest& request, const Handlers& handlers) {
  if (!co_await worker.Greet()) co_return std::nullopt;
  NoteReady(worker);
  if (!co_await worker.Write(wire::EncodeWorkerRequest(request))) co_return std::nullopt;
  if (handlers.on_sent) handlers.on_sent();
  std::size_t keys = 0;
  for (std::size_t events = 0; events < kMaxEvents; ++events) {
    const auto payload = co_await worker.Read();
    if (!payload) co_return std::nullopt;
    auto event = wire::DecodeWorkerEvent(*payload);
    if (!event.ok()) co_return std::nullopt;
    if (const auto* progress = std::get_if<wire::Progress>(&*event)) {
      handlers.on_progress(*progress);
    } else if (const auto* query = std::get_if<wire::KernelQuery>(&*event)) {
      // Each kernel that is found is held in memory until the request ends.
      keys += query->kernel_keys.size();
      if (keys > wire::kMaxDigests) co_return std::nullopt;
      const wire::WorkerKernelReply reply = co_await handlers.find_kernels(*query);
      if (!co_await worker.Write(wire::EncodeWorkerKernelReply(reply))) co_return std::nullopt;
    } else if (auto* done = std::get_if<wire::WorkerDone>(&*event)) {
      co_return Answer(std::move(*done));
    } else if (const auto* error = std::get_if<wire::ErrorReply>(&*event)) {
      co_return Answer(wire::ErrorOf(*error));
    } else {
      co_return std::nullopt;  // It was ready before.
    }
  }
  co_return std::nullopt;
}

asio::awaitable<Attempt> WorkerPool::State::RunOn(Worker worker, const wire::WorkerRequest& request,
                                                  const Handlers& handlers) {
  // Killing the worker closes its socket, which ends the conversation. The handler shares the
  // worker and the flag, since it may be queued when this request ends.
  const auto timed_out = std::make_shared<std::atomic<bool>>(false);
  asio::steady_timer deadline(co_await asio::this_coro::executor, config.time_limit);
  deadline.async_wait([worker, timed_out](boost::system::error_code code) {
    if (code) return;
    *timed_out = true;
    worker->Kill();
  });
  worker->LimitCpuTime(CpuTimeOf(config.time_limit));
  auto answer = co_await Converse(*worker, request, handlers);
  deadline.cancel();
  if (!answer) {
    const WorkerProcess::End end = co_await worker->Reap(blocking);
    if (*timed_out || end.is_out_of_cpu_time) {
      co_return Failed(FailureClass::kTimeout,
                       DeadlineExceeded("The compile takes longer than the limit of " +
                                        SecondsText(config.time_limit) + "."));
    }
    co_return Failed(FailureClass::kCrash,
                     Internal("The compile worker " + end.how + "; it had used " +
                              std::to_string(end.peak_mib) + " MiB of its limit of " +
                              std::to_string(config.program.memory_limit_mib) + " MiB."));
  }
  Attempt attempt;
  if (*timed_out) attempt.end = WorkerEnd::kTimeout;  // Just when it had answered.
  if (auto* error = std::get_if<Error>(&*answer)) {
    attempt.failure = FailureOfWorker(std::move(*error));
    if (!attempt.end) attempt.end = EndAfter(attempt.failure->failure_class);
    co_return attempt;
  }
  Status accepted = co_await handlers.accept(std::get<wire::WorkerDone>(std::move(*answer)));
  if (!accepted.ok()) co_return Failed(FailureClass::kInternal, accepted.error());
  co_return attempt;
}

asio::awaitable<std::optional<CompileFailure>> WorkerPool::Run(const wire::WorkerRequest& request,
                                                               const Handlers& handlers,
                                                               const std::string& job) {
  const std::shared_ptr<State> state = state_;
  const Clock::time_point asked = Clock::now();
  // Gives the place back however this ends.
  struct Slot {
    State& state;
    const CompileQueue::Id id;
    std::optional<Clock::time_point> start = std::nullopt;  // Running since.
    ~Slot() {
      if (start) {
        state.running.fetch_sub(1);
        state.metrics.run.Record((Clock::now() - *start) / std::chrono::nanoseconds(1));
      }
      state.queue.Leave(id);
      state.freed.Notify();
    }
  } slot{*state, state->queue.Enter(request.call.ns, job)};
  while (true) {
    const std::uint64_t seen = state->freed.version();
    if (state->queue.HasPlace(slot.id)) break;
    co_await state->freed.WaitBeyond(seen, kForever);
  }
  slot.start = Clock::now();
  state->running.fetch_add(1);
  state->metrics.queue.Record((*slot.start - asked) / std::chrono::nanoseconds(1));
  if (handlers.on_place) handlers.on_place();

  for (bool first = true;; first = false) {
    auto taken = state->Take(request.call.ns);
    if (!taken.ok()) co_return CompileFailure{FailureClass::kIo, taken.error()};
    std::shared_ptr<WorkerProcess> worker = *std::move(taken);
    Attempt attempt = co_await state->RunOn(worker, request, handlers);
    if (!attempt.end && ++worker->served >= state->config.requests_per_worker) {
      attempt.end = WorkerEnd::kWornOut;
    }
    if (!attempt.end) {
      worker = state->Keep(std::move(worker));
      if (worker != nullptr) attempt.end = WorkerEnd::kDisplaced;
    }
    if (attempt.end) {
      state->metrics.Count(*attempt.end);
      co_await worker->Reap(state->blocking);
    }
    if (!attempt.failure || attempt.failure->failure_class != FailureClass::kCrash) {
      co_return std::move(attempt.failure);
    }
    state->log(attempt.failure->error.message, request.request_id);
    if (!first) co_return std::move(attempt.failure);
  }
}

}  // namespace stoker
