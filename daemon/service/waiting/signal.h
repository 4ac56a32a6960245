// Signal: coroutines wait for "something changed", any thread says so.
//
//   std::uint64_t seen = signal.version();
//   while (!condition) { co_await signal.WaitBeyond(seen, ...); seen = signal.version(); }
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/experimental/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace stoker {

inline constexpr std::chrono::hours kForever{24};

class Signal {
 public:
  std::uint64_t version() const {
    const std::lock_guard lock(mutex_);
    return version_;
  }

  void Notify() {
    std::vector<std::shared_ptr<boost::asio::steady_timer>> waiting;
    {
      const std::lock_guard lock(mutex_);
      ++version_;
      waiting.swap(waiting_);
    }
    for (auto& timer : waiting) {
      boost::asio::post(timer->get_executor(), [timer] { timer->cancel(); });
    }
  }

  // Returns when the version differs from `seen`, or after `timeout`. The calling coroutine must
  // run on a strand (or on one thread): between its entry in `waiting_` and its wait, a Notify of
  // another thread can then only queue behind it.
  boost::asio::awaitable<void> WaitBeyond(std::uint64_t seen,
                                          std::chrono::steady_clock::duration timeout) {
    // Shared with the handler that Notify posts, which may run after the wait has ended.
    auto timer = std::make_shared<boost::asio::steady_timer>(
        co_await boost::asio::this_coro::executor, timeout);
    {
      const std::lock_guard lock(mutex_);
      if (version_ != seen) co_return;
      waiting_.push_back(timer);
    }
    co_await timer->async_wait(boost::asio::experimental::as_tuple(boost::asio::use_awaitable));
    const std::lock_guard lock(mutex_);
    std::erase(waiting_, timer);
  }

 private:
  mutable std::mutex mutex_;  // Guards what follows.
  std::uint64_t version_ = 0;
  std::vector<std::shared_ptr<boost::asio::steady_timer>> waiting_;
};

}  // namespace stoker
