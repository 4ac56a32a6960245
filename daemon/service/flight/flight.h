// Flight: one compile that several callers wait for. Each sees its progress and its result. It
// begins when its graph is there: until then one caller after the other is asked for it.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <variant>

#include "daemon/service/failure/compile_failure.h"
#include "daemon/service/flight/landed_artifact.h"
#include "daemon/service/waiting/signal.h"
#include "protocol/wire/messages.h"

namespace stoker {

class Flight {
 public:
  using Clock = std::chrono::steady_clock;

  // How long a caller who was asked for the graph has, before another one is asked.
  static constexpr std::chrono::seconds kGraphPatience{5};

  // Shared by everybody who waits for the flight.
  using Landing = std::variant<std::shared_ptr<const LandedArtifact>, CompileFailure>;

  struct News {
    std::optional<wire::Progress> progress;  // The latest, if it is new to this caller.
    std::optional<Landing> landing;          // The end.
  };

  // Whether this caller is to send the graph: nobody has, and whoever was asked before is late.
  bool AsksForGraph(Clock::time_point now) {
    const std::lock_guard lock(mutex_);
    if (has_begun_ || now < next_turn_) return false;
    next_turn_ = now + kGraphPatience;
    return true;
  }
  // When a caller is to ask AsksForGraph again; never, once it has begun.
  Clock::time_point next_turn() {
    const std::lock_guard lock(mutex_);
    return has_begun_ ? Clock::time_point::max() : next_turn_;
  }
  // Nobody waits for it: who waited would have been asked.
  bool IsAbandoned(Clock::time_point now) {
    const std::lock_guard lock(mutex_);
    return !has_begun_ && now > next_turn_ + kGraphPatience;
  }

  bool has_begun() {
    const std::lock_guard lock(mutex_);
    return has_begun_;
  }
  void Begin() {
    const std::lock_guard lock(mutex_);
    has_begun_ = true;
  }

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
    landed_.Notify();
    changed_.Notify();
  }

  // What happened since `*seen` reports; waits at most `timeout` for something.
  boost::asio::awaitable<News> Next(std::uint64_t* seen, Clock::duration timeout) {
    const std::uint64_t version = changed_.version();
    News news = Take(seen);
    if (!news.progress && !news.landing) {
      co_await changed_.WaitBeyond(version, timeout);
      news = Take(seen);
    }
    co_return news;
  }

  // Waits for the end, at most so long; reports wake nobody here.
  boost::asio::awaitable<void> AwaitLanding(Clock::duration timeout) {
    const std::uint64_t version = landed_.version();
    if (!HasLanded()) co_await landed_.WaitBeyond(version, timeout);
  }

 private:
  bool HasLanded() {
    const std::lock_guard lock(mutex_);
    return landing_.has_value();
  }

  News Take(std::uint64_t* seen) {
    const std::lock_guard lock(mutex_);
    News news;
    if (*seen != reports_) news.progress = progress_;
    *seen = reports_;
    news.landing = landing_;
    return news;
  }

  std::mutex mutex_;  // Guards what follows.
  bool has_begun_ = false;
  Clock::time_point next_turn_ = Clock::time_point::min();
  wire::Progress progress_;
  std::uint64_t reports_ = 0;
  std::optional<Landing> landing_;
  Signal changed_;  // By reports, and by the end.
  Signal landed_;
};

}  // namespace stoker
