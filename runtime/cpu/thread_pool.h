// ThreadPool: spreads the tasks of a launch over the calling thread and a few persistent workers.
//
// A launch on two threads costs about a microsecond of synchronization while launches follow each
// other closely: workers spin for kSpinMicroseconds after the last one before they sleep.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

namespace stoker::cpu {

inline constexpr int kMaxThreads = 256;
inline constexpr int kSpinMicroseconds = 50;
// Each thread starts with its own share of the chunks and then takes over what others have not
// begun, so that one that is held up delays at most its current chunk.
inline constexpr std::int64_t kChunksPerThread = 4;

// Thread-safe. A launch that finds the workers busy with another caller's runs on its own thread.
class ThreadPool {
 public:
  ThreadPool();
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Call before a series of launches. Returns how many threads they may use: `wanted` (0: no wish),
  // but no more than the CPUs the calling thread may run on. Starts missing workers, gives them the
  // caller's affinity, and wakes them. After a fork, the child's first call starts workers anew.
  int Prepare(int wanted);

  // Runs `body(context, begin, end, thread)` over disjoint ranges that cover [0, tasks), each at
  // least `min_tasks_per_chunk` long (if there are as many), with `thread` in [0, threads), never
  // the same at the same time. Returns when all have run. `threads` is at most what Prepare
  // returned.
  using Body = void (*)(const void* context, std::int64_t begin, std::int64_t end, int thread);
  void Run(int threads, std::int64_t tasks, std::int64_t min_tasks_per_chunk, const void* context,
           Body body);

 private:
  class Crew;

  std::mutex mutex_;  // Guards the making of crew_ and its size.
  std::unique_ptr<Crew> crew_;
};

}  // namespace stoker::cpu
