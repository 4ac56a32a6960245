// BackgroundThread: runs tasks one after another, at low priority, on a thread of its own.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace stoker::cpu {

// Thread-safe. In a child of a fork, where the thread is not, it does nothing.
class BackgroundThread {
 public:
  // Each task waits for `patience` before it runs, while nobody waits for it.
  explicit BackgroundThread(std::chrono::milliseconds patience);
  ~BackgroundThread();  // Runs what was posted.
  BackgroundThread(const BackgroundThread&) = delete;
  BackgroundThread& operator=(const BackgroundThread&) = delete;

  // The first one starts the thread.
  void Post(std::function<void()> task);

  // Waits until all tasks have run; false if that takes longer.
  bool Drain(std::chrono::milliseconds timeout);

  // Does somebody wait for the tasks? For one that can be given up.
  bool IsAwaited() const;
  // Was this made in another process, before a fork?
  bool IsElsewhere() const;

 private:
  struct State;
  static void Work(State& state);

  const int process_;
  std::unique_ptr<State> state_;
};

}  // namespace stoker::cpu
