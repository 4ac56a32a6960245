// WorkerPool: runs requests in compile worker processes, a bounded number at a time, in the order
// in which they were asked for.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string_view>

#include "daemon/service/worker_process.h"
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
  // Called again from the start when a request is tried again.
  using FindKernels = std::function<boost::asio::awaitable<wire::WorkerKernelReply>(
      const wire::KernelQuery& query)>;
  using OnProgress = std::function<void(const wire::Progress&)>;
  using Log = std::function<void(std::string_view)>;  // Of what went wrong; from any thread.

  // Starts one worker ahead, so that the first compile does not wait for a process. `blocking` must
  // outlive the pool and its requests.
  WorkerPool(boost::asio::any_io_executor executor, boost::asio::thread_pool& blocking,
             WorkerConfig config, Log log);
  ~WorkerPool();

  // Waits for a free slot, then runs the request; the calling coroutine runs on a strand. A worker
  // that crashes is replaced and the request tried once more; after that, and at a limit, the error
  // names the signal or the limit.
  boost::asio::awaitable<Result<wire::WorkerDone>> Run(const wire::WorkerRequest& request,
                                                       const FindKernels& find_kernels,
                                                       const OnProgress& on_progress);
  int running() const;

 private:
  struct State;
  std::shared_ptr<State> state_;  // Shared with the requests under way.
};

}  // namespace stoker
