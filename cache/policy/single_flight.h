// SingleFlight: concurrent calls for one key share one run of the work and its result.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace stoker {

template <typename Key, typename Value, typename Hash>
class SingleFlight {
 public:
  // Runs `work`, or waits for the run of another thread and returns a copy of its result. `work`
  // must not throw, and must not ask for the same key.
  Value Do(const Key& key, const std::function<Value()>& work) {
    std::unique_lock lock(mutex_);
    const auto [position, first] = flights_.try_emplace(key, nullptr);
    if (!first) {
      const std::shared_ptr<Flight> flight = position->second;
      ++shared_count_;
      landed_.wait(lock, [&] { return flight->result.has_value(); });
      return *flight->result;
    }
    // Shared with the waiters, who may look at the result after the key was forgotten.
    const auto flight = std::make_shared<Flight>();
    position->second = flight;
    lock.unlock();
    Value value = work();
    lock.lock();
    flight->result = value;
    flights_.erase(key);
    landed_.notify_all();
    return value;
  }

  // Calls that took, or wait for, the result of another thread's run.
  std::uint64_t shared_count() const {
    const std::lock_guard lock(mutex_);
    return shared_count_;
  }

 private:
  struct Flight {
    std::optional<Value> result;
  };

  mutable std::mutex mutex_;  // Guards what follows.
  std::condition_variable landed_;
  std::uint64_t shared_count_ = 0;
  std::unordered_map<Key, std::shared_ptr<Flight>, Hash> flights_;
};

}  // namespace stoker
