// WorkerPool: compile worker processes (`<program> --worker`), some of them started ahead.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "protocol/base/result.h"
#include "protocol/wire/messages.h"

namespace stoker {

struct WorkerConfig {
  std::string program = "/proc/self/exe";
  std::vector<std::string> arguments = {"--worker"};
  int max_workers = 1;  // Compiles at a time; each uses all cores for its kernels.
  std::chrono::seconds time_limit{600};
  std::uint64_t memory_limit_mib = 8192;  // Address space of one worker.
  int requests_per_worker = 256;          // Then it is replaced: a leak stays small.
};

class WorkerPool {
 public:
  using FindKernels = std::function<boost::asio::awaitable<wire::WorkerKernelReply>(
      const wire::KernelQuery& query)>;
  using OnProgress = std::function<void(const wire::Progress&)>;

  // Starts one worker ahead, so that the first compile does not wait for a process.
  WorkerPool(boost::asio::any_io_executor executor, WorkerConfig config);
  ~WorkerPool();

  // Waits for a free slot, then runs the request. A worker that crashes is replaced and the request
  // tried once more; after that, and at a limit, the error names the signal or the limit.
  boost::asio::awaitable<Result<wire::WorkerDone>> Run(const wire::WorkerRequest& request,
                                                       const FindKernels& find_kernels,
                                                       const OnProgress& on_progress);
  int running() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace stoker
