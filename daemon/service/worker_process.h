// WorkerProcess: one compile worker and the daemon's end of its socket.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "protocol/base/result.h"

namespace stoker {

struct WorkerProgram {
  std::string path = "/proc/self/exe";
  std::vector<std::string> arguments = {"--worker"};
  std::uint64_t memory_limit_mib = 16384;  // Of private writable memory.
};

class WorkerProcess {
 public:
  // How a worker ended.
  struct End {
    std::string how;  // "was ended by signal 9 (Killed)", "ended with status 1"
    std::uint64_t peak_mib = 0;
  };

  static Result<std::shared_ptr<WorkerProcess>> Start(boost::asio::any_io_executor executor,
                                                      const WorkerProgram& program);
  // Takes over the socket and the child.
  WorkerProcess(boost::asio::any_io_executor executor, int fd, int pid);
  // Kills it and waits for its end.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // Read and Write are called from one coroutine at a time; Kill from any thread.

  // One frame. False: the worker is gone.
  boost::asio::awaitable<bool> Write(std::string payload);
  // The payload of the next frame; nullopt: the worker is gone or does not speak in frames.
  boost::asio::awaitable<std::optional<std::string>> Read();

  void Kill();
  // False once the process has ended.
  bool Alive();
  // Kills it if it lives. Waits on `blocking`, for the end of a large process takes its time.
  boost::asio::awaitable<End> Reap(boost::asio::thread_pool& blocking);

  int served = 0;  // Requests that it answered.

 private:
  End Wait();

  boost::asio::basic_stream_socket<boost::asio::local::stream_protocol,
                                   boost::asio::any_io_executor>
      socket_;
  std::mutex mutex_;  // Guards pid_: a process that was waited for must not be signalled.
  int pid_;           // 0 after it was waited for.
};

}  // namespace stoker
