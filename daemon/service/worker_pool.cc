#include "daemon/service/worker_pool.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <cstring>
#include <mutex>
#include <system_error>

#include "daemon/service/signal.h"
#include "daemon/service/worker_main.h"
#include "protocol/wire/framing.h"

extern char** environ;

namespace stoker {
namespace {

namespace asio = boost::asio;
constexpr auto kAwait = asio::experimental::as_tuple(asio::use_awaitable);
constexpr std::chrono::hours kForever{24};

// One worker process and its socket. Killed and reaped when destroyed. Shared with the timer of its
// deadline, whose handler may be queued when the request ends.
class Worker {
 public:
  static Result<std::shared_ptr<Worker>> Start(asio::any_io_executor executor,
                                               const WorkerConfig& config) {
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
      return Unavailable("A socket pair for a worker cannot be made: " +
                         std::generic_category().message(errno) + ".");
    }
    std::vector<std::string> arguments = {config.program};
    arguments.insert(arguments.end(), config.arguments.begin(), config.arguments.end());
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fds[1], kWorkerSocket);
    posix_spawn_file_actions_addclosefrom_np(&actions, kWorkerSocket + 1);
    pid_t pid = 0;
    const int result =
        posix_spawn(&pid, config.program.c_str(), &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(fds[1]);
    if (result != 0) {
      close(fds[0]);
      return Unavailable("Worker '" + config.program +
                         "' cannot be started: " + std::generic_category().message(result) + ".");
    }
    const rlimit memory{config.memory_limit_mib << 20, config.memory_limit_mib << 20};
    prlimit(pid, RLIMIT_AS, &memory, nullptr);
    return std::make_shared<Worker>(std::move(executor), fds[0], pid);
  }

  Worker(asio::any_io_executor executor, int fd, pid_t pid)
      : socket_(std::move(executor), asio::local::stream_protocol(), fd), pid_(pid) {}

  ~Worker() {
    boost::system::error_code ignored;
    socket_.close(ignored);
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }

  void Kill() { kill(pid_, SIGKILL); }

  // How the process ended, after its socket closed.
  std::string Reap() {
    int status = 0;
    // The socket closes as the process dies; it is a zombie already or in a moment.
    if (waitpid(pid_, &status, 0) != pid_) return "is gone";
    pid_ = -1;
    if (WIFSIGNALED(status)) {
      return "was ended by signal " + std::to_string(WTERMSIG(status)) + " (" +
             strsignal(WTERMSIG(status)) + ")";
    }
    return "ended with status " + std::to_string(WEXITSTATUS(status));
  }

  asio::awaitable<bool> Write(const std::string& payload) {
    std::string frame;
    wire::AppendFrame(payload, &frame);
    const auto [code, size] = co_await asio::async_write(socket_, asio::buffer(frame), kAwait);
    co_return !code;
  }

  // nullopt: the worker is gone.
  asio::awaitable<std::optional<std::string>> Read() {
    char header[wire::kFrameHeaderBytes];
    auto [code, size] = co_await asio::async_read(socket_, asio::buffer(header), kAwait);
    if (code) co_return std::nullopt;
    const auto length = wire::FrameLength({header, sizeof header});
    if (!length.ok()) co_return std::nullopt;
    std::string payload(*length, '\0');
    std::tie(code, size) = co_await asio::async_read(socket_, asio::buffer(payload), kAwait);
    if (code) co_return std::nullopt;
    co_return payload;
  }

  int served = 0;

 private:
  asio::basic_stream_socket<asio::local::stream_protocol, asio::any_io_executor> socket_;
  pid_t pid_;
};

}  // namespace

struct WorkerPool::State {
  State(asio::any_io_executor e, WorkerConfig c) : executor(std::move(e)), config(std::move(c)) {}

  // nullptr: none is idle.
  std::shared_ptr<Worker> TakeIdle() {
    const std::lock_guard lock(mutex);
    if (idle.empty()) return nullptr;
    auto worker = std::move(idle.back());
    idle.pop_back();
    return worker;
  }
  void PutIdle(std::shared_ptr<Worker> worker) {
    const std::lock_guard lock(mutex);
    idle.push_back(std::move(worker));
  }

  const asio::any_io_executor executor;
  const WorkerConfig config;
  std::mutex mutex;
  std::vector<std::shared_ptr<Worker>> idle;
  std::atomic<int> running{0};
  Signal freed;
};

WorkerPool::WorkerPool(asio::any_io_executor executor, WorkerConfig config)
    : state_(std::make_shared<State>(std::move(executor), std::move(config))) {
  if (auto worker = Worker::Start(state_->executor, state_->config); worker.ok()) {
    state_->PutIdle(*std::move(worker));
  }
}

WorkerPool::~WorkerPool() = default;

int WorkerPool::running() const { return state_->running; }

namespace {

struct Attempt {
  Result<wire::WorkerDone> result;
  bool worker_died = false;
};

asio::awaitable<Attempt> RunOn(std::shared_ptr<Worker> worker, const wire::WorkerRequest& request,
                               const WorkerConfig& config,
                               const WorkerPool::FindKernels& find_kernels,
                               const WorkerPool::OnProgress& on_progress) {
  // Killing the worker closes the socket, which ends the read below.
  auto timed_out = std::make_shared<std::atomic<bool>>(false);
  asio::steady_timer deadline(co_await asio::this_coro::executor, config.time_limit);
  deadline.async_wait([worker, timed_out](boost::system::error_code code) {
    if (code) return;
    *timed_out = true;
    worker->Kill();
  });

  if (co_await worker->Write(wire::EncodeWorkerRequest(request))) {
    while (true) {
      const auto payload = co_await worker->Read();
      if (!payload) break;
      auto event = wire::DecodeWorkerEvent(*payload);
      if (!event.ok()) {
        worker->Kill();
        co_return Attempt{event.error().WithContext("The compile worker says nonsense"), true};
      }
      if (const auto* progress = std::get_if<wire::Progress>(&*event)) {
        on_progress(*progress);
      } else if (const auto* query = std::get_if<wire::KernelQuery>(&*event)) {
        const wire::WorkerKernelReply reply = co_await find_kernels(*query);
        if (!co_await worker->Write(wire::EncodeWorkerKernelReply(reply))) break;
      } else if (auto* done = std::get_if<wire::WorkerDone>(&*event)) {
        co_return Attempt{std::move(*done), false};
      } else {
        co_return Attempt{wire::ErrorOf(std::get<wire::ErrorReply>(*event)), false};
      }
    }
  }
  const std::string how = worker->Reap();
  if (*timed_out) {
    co_return Attempt{DeadlineExceeded("The compile takes longer than the limit of " +
                                       std::to_string(config.time_limit.count()) + " s."),
                      true};
  }
  co_return Attempt{Internal("The compile worker " + how + "; its memory limit is " +
                             std::to_string(config.memory_limit_mib) + " MiB."),
                    true};
}

}  // namespace

asio::awaitable<Result<wire::WorkerDone>> WorkerPool::Run(const wire::WorkerRequest& request,
                                                          const FindKernels& find_kernels,
                                                          const OnProgress& on_progress) {
  const std::shared_ptr<State> state = state_;
  while (true) {
    const std::uint64_t seen = state->freed.version();
    int running = state->running;
    if (running < state->config.max_workers &&
        state->running.compare_exchange_strong(running, running + 1)) {
      break;
    }
    if (running >= state->config.max_workers) co_await state->freed.WaitBeyond(seen, kForever);
  }
  struct Slot {
    State& state;
    ~Slot() {
      state.running.fetch_sub(1);
      state.freed.Notify();
    }
  } slot{*state};

  for (bool first = true;; first = false) {
    std::shared_ptr<Worker> worker = state->TakeIdle();
    if (worker == nullptr) {
      auto started = Worker::Start(state->executor, state->config);
      if (!started.ok()) co_return started.error();
      worker = *std::move(started);
    }
    Attempt attempt = co_await RunOn(worker, request, state->config, find_kernels, on_progress);
    if (!attempt.worker_died && ++worker->served < state->config.requests_per_worker) {
      state->PutIdle(std::move(worker));
    }
    const bool crashed = attempt.worker_died && !attempt.result.ok() &&
                         attempt.result.error().code == ErrorCode::kInternal;
    if (crashed && first) continue;
    co_return std::move(attempt.result);
  }
}

}  // namespace stoker
