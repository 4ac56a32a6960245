// Upkeep: garbage collection, purges and verification of the daemon's cache, for whoever asks: one
// at a time, on a thread that yields to everything else, with progress.
#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "cache/stack/stack.h"
#include "protocol/base/result.h"
#include "protocol/wire/upkeep_messages.h"

namespace stoker {

class Upkeep {
 public:
  using Send = std::function<boost::asio::awaitable<Status>(const wire::UpkeepEvent&)>;
  struct Config {
    std::function<bool()> is_draining;          // What runs then is stopped.
    std::function<void(std::string_view)> log;  // From any thread.
  };

  // The stack must outlive it.
  Upkeep(CacheStack& stack, Config config);
  ~Upkeep() { Stop(); }

  bool is_running() const;
  // Stops what runs, and waits for it: before the executors of who asked are gone.
  void Stop();

  // Each sends progress, twice a second, and then the report through `send`. `who` asks, for the
  // log. An error that is returned was met before anything was sent: FailedPrecondition: another
  // one runs. When `send` fails, the work is stopped: who asked is gone.
  boost::asio::awaitable<Status> CollectGarbage(wire::GcRequest request, std::string who,
                                                const Send& send);
  boost::asio::awaitable<Status> Purge(wire::PurgeRequest request, std::string who,
                                       const Send& send);
  boost::asio::awaitable<Status> Verify(std::string who, const Send& send);

 private:
  struct Run;
  using Work = std::function<Result<wire::UpkeepReport>(const UpkeepWatch&)>;

  boost::asio::awaitable<Status> Do(std::string what, std::string who, Work work, const Send& send);
  void Finish(Run& run, Result<wire::UpkeepReport> report);

  CacheStack& stack_;
  const Config config_;
  mutable std::mutex mutex_;  // Guards what follows.
  std::shared_ptr<Run> running_;
  boost::asio::thread_pool thread_{1};  // Last: it uses all of the above.
};

}  // namespace stoker
