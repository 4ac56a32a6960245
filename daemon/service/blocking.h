// Runs a blocking function on a thread pool and resumes the coroutine where it was.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace stoker {

template <typename Function>
auto RunBlocking(boost::asio::thread_pool& pool, Function function)
    -> boost::asio::awaitable<decltype(function())> {
  // The inner coroutine runs on the pool; co_spawn resumes this one on its own executor.
  co_return co_await boost::asio::co_spawn(
      pool.get_executor(),
      [f = std::move(function)]() mutable -> boost::asio::awaitable<decltype(f())> {
        co_return f();
      },
      boost::asio::use_awaitable);
}

}  // namespace stoker
