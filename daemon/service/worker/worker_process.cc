#include "daemon/service/worker/worker_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/experimental/as_tuple.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "daemon/service/waiting/blocking.h"
#include "daemon/service/worker/worker_main.h"
#include "protocol/wire/framing.h"
#include "protocol/wire/messages.h"

namespace stoker {
namespace {

namespace asio = boost::asio;
constexpr auto kAwait = asio::experimental::as_tuple(asio::use_awaitable);
// Memory for an answer is taken as it comes, not as it is announced.
constexpr std::size_t kReadStepBytes = std::size_t{1} << 20;

// Sanitizers map terabytes of shadow memory, which would count.
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kLimitsMemory = false;
#else
constexpr bool kLimitsMemory = true;
#endif

// NAME=VALUE of those that are set, and the settings.
std::vector<std::string> EnvironmentOf(const WorkerProgram& program) {
  std::vector<std::string> environment;
  for (const std::string& name : program.variables) {
    if (const char* value = std::getenv(name.c_str())) environment.push_back(name + "=" + value);
  }
  for (const auto& [name, value] : program.settings) environment.push_back(name + "=" + value);
  return environment;
}

// As posix_spawn takes it.
std::vector<char*> PointersTo(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

// The worker's socket is descriptor kWorkerSocket there; it has no other but the standard ones, of
// which it reads none.
int Spawn(const WorkerProgram& program, int socket, pid_t* pid) {
  std::vector<std::string> arguments = {program.path};
  arguments.insert(arguments.end(), program.arguments.begin(), program.arguments.end());
  std::vector<std::string> environment = EnvironmentOf(program);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, socket, kWorkerSocket);
  posix_spawn_file_actions_addclosefrom_np(&actions, kWorkerSocket + 1);
  // A process group of its own: Ctrl-C at a terminal drains the daemon and must not end compiles.
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  const int result = posix_spawn(pid, program.path.c_str(), &actions, &attributes,
                                 PointersTo(arguments).data(), PointersTo(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return result;
}

}  // namespace

Result<std::shared_ptr<WorkerProcess>> WorkerProcess::Start(asio::any_io_executor executor,
                                                            const WorkerProgram& program) {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
    return Unavailable("A socket pair for a worker cannot be made: " +
                       std::generic_category().message(errno) + ".");
  }
  pid_t pid = 0;
  const int result = Spawn(program, fds[1], &pid);
  close(fds[1]);
  if (result != 0) {
    close(fds[0]);
    return Unavailable("Worker '" + program.path +
                       "' cannot be started: " + std::generic_category().message(result) + ".");
  }
  // Not RLIMIT_AS: it would count the text of the program and what malloc reserves for each thread.
  const rlimit memory{program.memory_limit_mib << 20, program.memory_limit_mib << 20};
  if (kLimitsMemory) prlimit(pid, RLIMIT_DATA, &memory, nullptr);
  return std::make_shared<WorkerProcess>(std::move(executor), fds[0], pid);
}

WorkerProcess::WorkerProcess(asio::any_io_executor executor, int fd, int pid)
    : socket_(std::move(executor), asio::local::stream_protocol(), fd), pid_(pid) {}

WorkerProcess::~WorkerProcess() {
  boost::system::error_code ignored;
  socket_.close(ignored);
  Wait();
}

asio::awaitable<bool> WorkerProcess::Greet() {
  while (true) {
    const std::uint64_t seen = greeted_.version();
    {
      const std::lock_guard lock(mutex_);
      if (greeting_ == Greeting::kRead) co_return true;
      if (greeting_ == Greeting::kFailed) co_return false;
      if (greeting_ == Greeting::kAwaited) {
        greeting_ = Greeting::kBeingRead;
        break;
      }
    }
    co_await greeted_.WaitBeyond(seen, kForever);
  }
  const bool is_ready = co_await ReadGreeting();
  {
    const std::lock_guard lock(mutex_);
    greeting_ = is_ready ? Greeting::kRead : Greeting::kFailed;
  }
  greeted_.Notify();
  co_return is_ready;
}

asio::awaitable<bool> WorkerProcess::ReadGreeting() {
  const auto payload = co_await Read();
  if (!payload) co_return false;
  auto event = wire::DecodeWorkerEvent(*payload);
  auto* ready = event.ok() ? std::get_if<wire::WorkerReady>(&*event) : nullptr;
  if (ready == nullptr) co_return false;
  ready_ = std::move(*ready);
  co_return true;
}

void WorkerProcess::LimitCpuTime(std::chrono::seconds more) {
  const std::lock_guard lock(mutex_);
  clockid_t clock = 0;
  timespec used{};
  rlimit limit{};
  if (pid_ == 0 || clock_getcpuclockid(pid_, &clock) != 0 || clock_gettime(clock, &used) != 0 ||
      prlimit(pid_, RLIMIT_CPU, nullptr, &limit) != 0) {
    return;
  }
  limit.rlim_cur = std::min(limit.rlim_max, static_cast<rlim_t>(used.tv_sec + 1 + more.count()));
  prlimit(pid_, RLIMIT_CPU, &limit, nullptr);
}

void WorkerProcess::Kill() {
  const std::lock_guard lock(mutex_);
  if (pid_ > 0) kill(pid_, SIGKILL);
}

bool WorkerProcess::Alive() {
  const std::lock_guard lock(mutex_);
  siginfo_t info{};
  return pid_ > 0 &&
         waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == 0;
}

WorkerProcess::End WorkerProcess::Wait() {
  Kill();
  if (pid_ == 0) return {"is gone"};
  // Its end is awaited without the lock, and it stays a zombie: its number is not given away.
  siginfo_t info{};
  while (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  const std::lock_guard lock(mutex_);
  int status = 0;
  rusage usage{};
  const bool reaped = wait4(pid_, &status, WNOHANG, &usage) == pid_;
  pid_ = 0;
  if (!reaped) return {"is gone"};
  End end;
  end.peak_mib = static_cast<std::uint64_t>(usage.ru_maxrss) >> 10;  // From KiB.
  if (WIFSIGNALED(status)) {
    end.is_out_of_cpu_time = WTERMSIG(status) == SIGXCPU;
    end.how = "was ended by signal " + std::to_string(WTERMSIG(status)) + " (" +
              strsignal(WTERMSIG(status)) + ")";
  } else {
    end.how = "ended with status " + std::to_string(WEXITSTATUS(status));
  }
  return end;
}

asio::awaitable<WorkerProcess::End> WorkerProcess::Reap(asio::thread_pool& blocking) {
  co_return co_await RunBlocking(blocking, [this] { return Wait(); });
}

asio::awaitable<bool> WorkerProcess::Write(std::string payload) {
  std::string frame;
  wire::AppendFrame(payload, &frame);
  const auto [code, size] = co_await asio::async_write(socket_, asio::buffer(frame), kAwait);
  co_return !code;
}

asio::awaitable<std::optional<std::string>> WorkerProcess::Read() {
  char header[wire::kFrameHeaderBytes];
  auto [code, size] = co_await asio::async_read(socket_, asio::buffer(header), kAwait);
  if (code) co_return std::nullopt;
  const auto length = wire::FrameLength({header, sizeof header});
  if (!length.ok()) co_return std::nullopt;
  std::string payload;
  while (payload.size() < *length) {
    const std::size_t had = payload.size();
    payload.resize(std::min<std::size_t>(*length, had + std::max(had, kReadStepBytes)));
    std::tie(code, size) = co_await asio::async_read(
        socket_, asio::buffer(payload.data() + had, payload.size() - had), kAwait);
    if (code) co_return std::nullopt;
  }
  co_return payload;
}

}  // namespace stoker
