// WorkerProcess: one compile worker and the daemon's end of its socket.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "daemon/service/waiting/signal.h"
#include "protocol/base/result.h"
#include "protocol/wire/messages.h"

namespace stoker {

struct WorkerProgram {
  std::string path = "/proc/self/exe";
  std::vector<std::string> arguments = {"--worker"};
  // Of the daemon's environment; others are none of a worker's business, and may be secrets.
  std::vector<std::string> variables = {
      "ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS",
      // Where nvJitLink is sought.
      "LD_LIBRARY_PATH", "CUDA_HOME", "VIRTUAL_ENV", "STOKER_VENV"};
  std::map<std::string, std::string> settings;  // More variables of a worker.
  std::uint64_t memory_limit_mib = 16384;       // Of private writable memory.
};

class WorkerProcess {
 public:
  // How a worker ended.
  struct End {
    std::string how;  // "was ended by signal 9 (Killed)", "ended with status 1"
    std::uint64_t peak_mib = 0;
    bool is_out_of_cpu_time = false;
  };

  static Result<std::shared_ptr<WorkerProcess>> Start(boost::asio::any_io_executor executor,
                                                      const WorkerProgram& program);
  // Takes over the socket and the child.
  WorkerProcess(boost::asio::any_io_executor executor, int fd, int pid);
  // Kills it and waits for its end.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // Read and Write are called from one coroutine at a time, after Greet; Kill from any thread.

  // Waits until the worker is ready, which it says once; may be called by several coroutines, each
  // on a strand. False: it is gone, or says something else.
  boost::asio::awaitable<bool> Greet();
  // What it is confined by, and can compile for; after Greet.
  const wire::WorkerReady& ready() const { return ready_; }
  // One frame. False: the worker is gone.
  boost::asio::awaitable<bool> Write(std::string payload);
  // The payload of the next frame; nullopt: the worker is gone or does not speak in frames.
  boost::asio::awaitable<std::optional<std::string>> Read();

  // It is ended when it has used so much more time of processors.
  void LimitCpuTime(std::chrono::seconds more);
  void Kill();
  // False once the process has ended.
  bool Alive();
  // Kills it if it lives. Waits on `blocking`, for the end of a large process takes its time.
  boost::asio::awaitable<End> Reap(boost::asio::thread_pool& blocking);

  int served = 0;          // Requests that it answered.
  std::string name_space;  // Whose requests these were; empty: none yet.

 private:
  enum class Greeting { kAwaited, kBeingRead, kRead, kFailed };

  boost::asio::awaitable<bool> ReadGreeting();
  End Wait();

  boost::asio::basic_stream_socket<boost::asio::local::stream_protocol,
                                   boost::asio::any_io_executor>
      socket_;
  Signal greeted_;
  wire::WorkerReady ready_;
  // Guards what follows. A process that was waited for must not be signalled.
  std::mutex mutex_;
  int pid_;  // 0 after it was waited for.
  Greeting greeting_ = Greeting::kAwaited;
};

}  // namespace stoker
