// ThreadPool: spreads the tasks of launches over the calling threads and a few persistent workers.
//
// A launch on two threads costs about a microsecond of synchronization while launches follow each
// other closely: workers spin for kSpinMicroseconds after the last one before they sleep.
#pragma once

#include <sched.h>

#include <cstdint>
#include <memory>
#include <mutex>

#include "protocol/base/fork_mutex.h"

namespace stoker::cpu {

inline constexpr int kMaxThreads = 256;
inline constexpr int kMaxTeams = 64;
inline constexpr int kSpinMicroseconds = 50;
// Each thread starts with its own share of the chunks and then takes over what others have not
// begun, so that one that is held up delays at most its current chunk.
inline constexpr std::int64_t kChunksPerThread = 4;

// Pieces smaller than a chunk are not worth a thread; a thread's share is not cut into pieces
// smaller than a call is worth, if it can be helped.
struct Grain {
  std::int64_t min_tasks_per_chunk = 1;
  std::int64_t min_tasks_per_call = 1;
};

// CPUs that the calling thread may run on.
cpu_set_t AllowedCpus();

// Thread-safe. Callers at the same time share the CPUs that they may run on: each gets as many
// threads as it wants, or its part. Who arrives gets its workers as soon as they have finished the
// chunks they are in; who stays gets those of one that has left with its next launch.
class ThreadPool {
  class Crew;

 public:
  // Runs `body(context, begin, end, share)` over disjoint ranges that cover the tasks,
  // `share.thread` never being the same at the same time in one team.
  struct Share {
    int thread;
    int threads;  // Among which the tasks were cut, the same for all ranges of a launch.
    bool begins;  // No range of this launch was this thread's before.
  };
  using Body = void (*)(const void* context, std::int64_t begin, std::int64_t end, Share share);

  // One caller's threads for a series of launches. Not thread-safe.
  class Team {
   public:
    Team(Team&& other) noexcept;
    Team& operator=(Team&&) = delete;
    ~Team();  // Workers stay with the next team unless another needs them.

    // Bodies are given numbers below this; at times fewer threads take part.
    int threads() const { return threads_; }

    // Covers [0, tasks) with ranges, on as many threads as are worth it (cut.h): the caller alone
    // where there are fewer tasks than two chunks. Returns when all have run.
    void Run(std::int64_t tasks, const Grain& grain, const void* context, Body body);

   private:
    friend class ThreadPool;
    Team(Crew* crew, int squad, int threads) : crew_(crew), squad_(squad), threads_(threads) {}

    Crew* crew_;  // Null: the caller alone.
    int squad_;
    int threads_;
  };

  // `allowed_cpus`: asked on the thread that gathers.
  explicit ThreadPool(cpu_set_t (*allowed_cpus)() = AllowedCpus);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Workers for the calling thread until the team's end: `wanted` threads (0: no wish), but no more
  // than the CPUs the caller may run on, which workers are bound to as well. Starts those that are
  // missing and wakes them. Callers beyond kMaxTeams compute on their own threads. After a fork,
  // the child's first call starts workers anew.
  Team Gather(int wanted);

 private:
  Crew* CrewOfThisProcess();

  cpu_set_t (*const allowed_cpus_)();
  ForkMutex mutex_;  // Guards the making of crew_.
  std::unique_ptr<Crew> crew_;
};

}  // namespace stoker::cpu
