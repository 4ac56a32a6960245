// Flight: one compile that several callers wait for. Each sees its progress and its result.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <mutex>
#include <optional>

#include "daemon/service/artifact_store.h"
#include "daemon/service/signal.h"
#include "protocol/base/result.h"
#include "protocol/wire/messages.h"

namespace stoker {

class Flight {
 public:
  // Shared by everybody who waits for the flight.
  using Landing = Result<std::shared_ptr<const StoredArtifact>>;

  struct News {
    std::optional<wire::Progress> progress;  // The latest, if it is new to this caller.
    std::optional<Landing> landing;          // The end.
  };

  void Report(const wire::Progress& progress) {
    {
      const std::lock_guard lock(mutex_);
      progress_ = progress;
      ++reports_;
    }
    changed_.Notify();
  }

  void Land(Landing landing) {
    {
      const std::lock_guard lock(mutex_);
      landing_ = std::move(landing);
    }
    changed_.Notify();
  }

  // What happened since `*seen` reports; waits at most `timeout` for something.
  boost::asio::awaitable<News> Next(std::uint64_t* seen,
                                    std::chrono::steady_clock::duration timeout) {
    const std::uint64_t version = changed_.version();
    News news = Take(seen);
    if (!news.progress && !news.landing) {
      co_await changed_.WaitBeyond(version, timeout);
      news = Take(seen);
    }
    co_return news;
  }

 private:
  News Take(std::uint64_t* seen) {
    const std::lock_guard lock(mutex_);
    News news;
    if (*seen != reports_) news.progress = progress_;
    *seen = reports_;
    news.landing = landing_;
    return news;
  }

  std::mutex mutex_;  // Guards what follows.
  wire::Progress progress_;
  std::uint64_t reports_ = 0;
  std::optional<Landing> landing_;
  Signal changed_;
};

}  // namespace stoker
