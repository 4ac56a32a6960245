// Crew: the workers of one process and who has which.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "runtime/cpu/threads/squad.h"
#include "runtime/cpu/threads/thread_pool.h"

namespace stoker::cpu {

// Threads do not survive a fork: a child abandons its parent's crew.
class ThreadPool::Crew {
 public:
  Crew();
  ~Crew();

  pid_t pid() const { return pid_; }

  // The squad of a new team, its workers awake, or -1: there are too many. `wanted`: threads, the
  // caller among them, who may run on `cpus`.
  int Join(int wanted, const cpu_set_t& cpus);
  void Leave(int squad);

  void Run(int squad, std::int64_t tasks, const Grain& grain, const void* context, Body body);

 private:
  // Who has which workers. All require mutex_.
  int IdleSquad();
  std::array<int, kMaxTeams> Shares(bool* settled) const;
  void ReleaseWhatExceeds(const std::array<int, kMaxTeams>& shares);
  static void Release(Worker& worker);
  void Form(int index, int share, bool moves);
  Worker* Obtain(const Squad& taker);
  Worker* Start(const Squad& taker);

  void FollowChanges(int index);
  void Work(Worker& self);
  template <typename Wanted>
  static void Park(Worker& self, Wanted wanted);

  const pid_t pid_;
  std::atomic<bool> stop_{false};
  // Counts what teams have to follow: workers taken from one, or left by one.
  alignas(kCacheLine) std::atomic<std::uint64_t> changes_{0};

  alignas(kCacheLine) std::mutex mutex_;
  int size_ = 0;
  std::array<std::unique_ptr<Worker>, kMaxThreads> workers_;
  int teams_ = 0;
  std::array<std::unique_ptr<Squad>, kMaxTeams> squads_;  // Never freed: workers may come late.
};

}  // namespace stoker::cpu
