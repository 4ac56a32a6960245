// WorkerPool: runs requests in compile worker processes, a bounded number at a time; whose is next
// says CompileQueue.
//
// A worker serves one namespace, and is replaced after anything but an artifact or a diagnostic:
// what a hostile graph may have made of it meets nobody else's request.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/service/failure/compile_failure.h"
#include "daemon/service/worker/worker_metrics.h"
#include "daemon/service/worker/worker_process.h"
#include "protocol/base/result.h"
#include "protocol/wire/messages.h"

namespace stoker {

struct WorkerConfig {
  WorkerProgram program;
  int max_workers = 1;  // Compiles at a time; each uses all cores for its kernels.
  std::chrono::milliseconds time_limit{600000};
  int requests_per_worker = 256;  // Then it is replaced: a leak stays small.
};

class WorkerPool {
 public:
  // What a worker may say in one request; one that says more is none of ours.
  static constexpr std::size_t kMaxEvents = std::size_t{1} << 20;

  // What the caller does for a request while it runs. Progress and kernels come again from the
  // start when it is tried again.
  struct Handlers {
    std::function<boost::asio::awaitable<wire::WorkerKernelReply>(const wire::KernelQuery& query)>
        find_kernels;
    std::function<void(const wire::Progress&)> on_progress;
    // These may be empty. Its turn has come: called once. A worker has got it: called again when it
    // is tried again.
    std::function<void()> on_place;
    std::function<void()> on_sent;
    // Takes what the worker made. An error: it is not what was asked for, and the worker is not
    // trusted again.
    std::function<boost::asio::awaitable<Status>(wire::WorkerDone done)> accept;
  };
  // Of what went wrong with a request; from any thread.
  using Log = std::function<void(std::string_view message, std::string_view request_id)>;

  // Starts one worker ahead, so that the first compile does not wait for a process. `blocking` must
  // outlive the pool and its requests.
  WorkerPool(boost::asio::any_io_executor executor, boost::asio::thread_pool& blocking,
             WorkerConfig config, Log log);
  ~WorkerPool();

  // Waits for a free slot, then runs the request; the calling coroutine runs on a strand. A worker
  // that crashes is replaced and the request tried once more; after that, and at a limit, the error
  // names the signal or the limit. Nothing: its result was accepted.
  // `job`: whose it is within its namespace; empty: nobody said.
  boost::asio::awaitable<std::optional<CompileFailure>> Run(const wire::WorkerRequest& request,
                                                            const Handlers& handlers,
                                                            const std::string& job = "");
  int running() const;
  const WorkerMetrics& metrics() const;
  // What the latest worker said that it is confined by and can compile for; nothing before the
  // first one is up.
  std::optional<wire::WorkerReady> ready() const;

 private:
  struct State;
  std::shared_ptr<State> state_;  // Shared with the requests under way.
};

}  // namespace stoker
