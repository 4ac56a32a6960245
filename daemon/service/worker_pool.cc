#include "daemon/service/worker_pool.h"

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "daemon/service/signal.h"

namespace stoker {
namespace {

namespace asio = boost::asio;
constexpr std::chrono::hours kForever{24};

std::string SecondsText(std::chrono::milliseconds time) {
  std::string text = std::to_string(std::chrono::duration<double>(time).count());
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text + " s";
}

}  // namespace

struct WorkerPool::State {
  State(asio::any_io_executor e, asio::thread_pool& b, WorkerConfig c, Log l)
      : executor(std::move(e)), blocking(b), config(std::move(c)), log(std::move(l)) {}

  // An idle worker that lives, or a new one.
  Result<std::shared_ptr<WorkerProcess>> Take() {
    while (true) {
      std::shared_ptr<WorkerProcess> worker;
      {
        const std::lock_guard lock(mutex);
        if (idle.empty()) break;
        worker = std::move(idle.back());
        idle.pop_back();
      }
      if (worker->Alive()) return worker;
    }
    return WorkerProcess::Start(executor, config.program);
  }

  const asio::any_io_executor executor;
  asio::thread_pool& blocking;
  const WorkerConfig config;
  const Log log;
  std::mutex mutex;  // Guards what follows.
  std::vector<std::shared_ptr<WorkerProcess>> idle;
  std::uint64_t next_ticket = 0;  // Requests are served by their tickets,
  std::uint64_t finished = 0;     // at most max_workers beyond the finished ones.
  std::atomic<int> running{0};
  Signal freed;
};

WorkerPool::WorkerPool(asio::any_io_executor executor, asio::thread_pool& blocking,
                       WorkerConfig config, Log log)
    : state_(std::make_shared<State>(std::move(executor), blocking, std::move(config),
                                     std::move(log))) {
  auto worker = WorkerProcess::Start(state_->executor, state_->config.program);
  if (worker.ok()) {
    state_->idle.push_back(*std::move(worker));
  } else {
    state_->log(worker.error().message);
  }
}

WorkerPool::~WorkerPool() = default;

int WorkerPool::running() const { return state_->running; }

namespace {

struct Attempt {
  Result<wire::WorkerDone> result;
  bool crashed = false;       // The worker died by itself; the request is not to blame yet.
  bool worker_is_fit = true;  // May serve another request.
};

// What the worker answers. nullopt: it is gone, or says what no worker of ours says.
asio::awaitable<std::optional<Result<wire::WorkerDone>>> Converse(
    WorkerProcess& worker, const wire::WorkerRequest& request,
    const WorkerPool::FindKernels& find_kernels, const WorkerPool::OnProgress& on_progress) {
  if (!co_await worker.Write(wire::EncodeWorkerRequest(request))) co_return std::nullopt;
  while (true) {
    const auto payload = co_await worker.Read();
    if (!payload) co_return std::nullopt;
    auto event = wire::DecodeWorkerEvent(*payload);
    if (!event.ok()) co_return std::nullopt;
    if (const auto* progress = std::get_if<wire::Progress>(&*event)) {
      on_progress(*progress);
    } else if (const auto* query = std::get_if<wire::KernelQuery>(&*event)) {
      const wire::WorkerKernelReply reply = co_await find_kernels(*query);
      if (!co_await worker.Write(wire::EncodeWorkerKernelReply(reply))) co_return std::nullopt;
    } else if (auto* done = std::get_if<wire::WorkerDone>(&*event)) {
      co_return std::move(*done);
    } else {
      co_return wire::ErrorOf(std::get<wire::ErrorReply>(*event));
    }
  }
}

asio::awaitable<Attempt> RunOn(std::shared_ptr<WorkerProcess> worker,
                               const wire::WorkerRequest& request, const WorkerConfig& config,
                               asio::thread_pool& blocking,
                               const WorkerPool::FindKernels& find_kernels,
                               const WorkerPool::OnProgress& on_progress) {
  // Killing the worker closes its socket, which ends the conversation. The handler shares the
  // worker and the flag, since it may be queued when this request ends.
  const auto timed_out = std::make_shared<std::atomic<bool>>(false);
  asio::steady_timer deadline(co_await asio::this_coro::executor, config.time_limit);
  deadline.async_wait([worker, timed_out](boost::system::error_code code) {
    if (code) return;
    *timed_out = true;
    worker->Kill();
  });
  auto answer = co_await Converse(*worker, request, find_kernels, on_progress);
  deadline.cancel();
  if (answer) {
    // After a failed allocation a worker's memory is full or in pieces.
    const bool fit = answer->ok() || answer->error().code != ErrorCode::kResourceExhausted;
    co_return Attempt{*std::move(answer), false, fit && !*timed_out};
  }
  const WorkerProcess::End end = co_await worker->Reap(blocking);
  if (*timed_out) {
    co_return Attempt{DeadlineExceeded("The compile takes longer than the limit of " +
                                       SecondsText(config.time_limit) + "."),
                      false, false};
  }
  co_return Attempt{
      Internal("The compile worker " + end.how + "; it had used " + std::to_string(end.peak_mib) +
               " MiB of its limit of " + std::to_string(config.program.memory_limit_mib) + " MiB."),
      true, false};
}

}  // namespace

asio::awaitable<Result<wire::WorkerDone>> WorkerPool::Run(const wire::WorkerRequest& request,
                                                          const FindKernels& find_kernels,
                                                          const OnProgress& on_progress) {
  const std::shared_ptr<State> state = state_;
  const auto may_run = [&state](std::uint64_t ticket) {
    const std::lock_guard lock(state->mutex);
    return ticket < state->finished + static_cast<std::uint64_t>(state->config.max_workers);
  };
  const std::uint64_t ticket = [&state] {
    const std::lock_guard lock(state->mutex);
    return state->next_ticket++;
  }();
  // Gives the ticket back however this ends.
  struct Slot {
    State& state;
    bool running = false;
    ~Slot() {
      if (running) state.running.fetch_sub(1);
      {
        const std::lock_guard lock(state.mutex);
        ++state.finished;
      }
      state.freed.Notify();
    }
  } slot{*state};
  while (true) {
    const std::uint64_t seen = state->freed.version();
    if (may_run(ticket)) break;
    co_await state->freed.WaitBeyond(seen, kForever);
  }
  slot.running = true;
  state->running.fetch_add(1);

  for (bool first = true;; first = false) {
    auto taken = state->Take();
    if (!taken.ok()) co_return taken.error();
    std::shared_ptr<WorkerProcess> worker = *std::move(taken);
    Attempt attempt =
        co_await RunOn(worker, request, state->config, state->blocking, find_kernels, on_progress);
    if (attempt.worker_is_fit && ++worker->served < state->config.requests_per_worker) {
      const std::lock_guard lock(state->mutex);
      state->idle.push_back(std::move(worker));
    } else {
      co_await worker->Reap(state->blocking);
    }
    if (attempt.crashed) state->log(attempt.result.error().message);
    if (attempt.crashed && first) continue;
    co_return std::move(attempt.result);
  }
}

}  // namespace stoker
