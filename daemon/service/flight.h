// Flight: one compile that several callers wait for. Each sees all of its progress and its result.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "daemon/service/artifact_store.h"
#include "daemon/service/signal.h"
#include "protocol/base/result.h"
#include "protocol/wire/messages.h"

namespace stoker {

class Flight {
 public:
  struct News {
    std::vector<wire::Progress> progress;
    std::optional<Result<StoredArtifact>> result;  // Last.
  };

  void Report(const wire::Progress& progress) {
    {
      const std::lock_guard lock(mutex_);
      progress_.push_back(progress);
    }
    changed_.Notify();
  }

  void Land(Result<StoredArtifact> result) {
    {
      const std::lock_guard lock(mutex_);
      result_ = std::move(result);
    }
    changed_.Notify();
  }

  // What happened after the first `*seen` progress reports; waits at most `timeout` for something.
  boost::asio::awaitable<News> Next(std::size_t* seen,
                                    std::chrono::steady_clock::duration timeout) {
    const std::uint64_t version = changed_.version();
    News news = Take(seen);
    if (news.progress.empty() && !news.result) {
      co_await changed_.WaitBeyond(version, timeout);
      news = Take(seen);
    }
    co_return news;
  }

 private:
  News Take(std::size_t* seen) {
    const std::lock_guard lock(mutex_);
    News news;
    news.progress.assign(progress_.begin() + static_cast<std::ptrdiff_t>(*seen), progress_.end());
    *seen = progress_.size();
    news.result = result_;
    return news;
  }

  std::mutex mutex_;
  std::vector<wire::Progress> progress_;
  std::optional<Result<StoredArtifact>> result_;
  Signal changed_;
};

}  // namespace stoker
