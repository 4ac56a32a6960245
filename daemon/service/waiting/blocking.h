// Runs a blocking function on a thread pool and resumes the coroutine where it was.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <optional>
#include <utility>

namespace stoker {

template <typename Function>
auto RunBlocking(boost::asio::thread_pool& pool, Function function)
    -> boost::asio::awaitable<decltype(function())> {
  // co_spawn asks for results that can be made from nothing, hence the optional. The inner
  // coroutine runs on the pool; this one resumes on its own executor.
  std::optional<decltype(function())> result;
  co_await boost::asio::co_spawn(
      pool.get_executor(),
      [&]() -> boost::asio::awaitable<void> {
        result.emplace(function());
        co_return;
      },
      boost::asio::use_awaitable);
  co_return *std::move(result);
}

}  // namespace stoker
