// Runs coroutines of the daemon in tests: an io_context with two threads, and the blocking threads.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <future>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace stoker {

class Coroutines {
 public:
  Coroutines() {
    for (int i = 0; i < 2; ++i) threads_.emplace_back([this] { io_.run(); });
  }
  // What waits is destroyed unfinished.
  ~Coroutines() { Stop(); }

  void Stop() {
    io_.stop();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    blocking_.join();
  }

  // Starts a coroutine on a strand of its own.
  template <typename T>
  std::future<T> Start(boost::asio::awaitable<T> coroutine) {
    auto promise = std::make_shared<std::promise<T>>();
    std::future<T> future = promise->get_future();
    boost::asio::co_spawn(boost::asio::make_strand(io_), Fulfil(std::move(coroutine), promise),
                          [promise](std::exception_ptr error) {
                            if (error) promise->set_exception(error);
                          });
    return future;
  }
  template <typename T>
  T Run(boost::asio::awaitable<T> coroutine) {
    return Start(std::move(coroutine)).get();
  }

  boost::asio::io_context& io() { return io_; }
  boost::asio::thread_pool& blocking() { return blocking_; }

 private:
  template <typename T>
  static boost::asio::awaitable<void> Fulfil(boost::asio::awaitable<T> coroutine,
                                             std::shared_ptr<std::promise<T>> promise) {
    promise->set_value(co_await std::move(coroutine));
  }

  boost::asio::io_context io_{2};
  boost::asio::thread_pool blocking_{4};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      io_.get_executor()};
  std::vector<std::thread> threads_;
};

}  // namespace stoker
