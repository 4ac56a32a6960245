#include "runtime/cpu/threads/thread_pool.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace stoker::cpu {
namespace {

// Counts how often each task ran, and on which threads.
struct Record {
  explicit Record(std::int64_t tasks) : ran(static_cast<std::size_t>(tasks)) {}

  static void Body(const void* context, std::int64_t begin, std::int64_t end,
                   ThreadPool::Share share) {
    const int thread = share.thread;
    auto& self = *const_cast<Record*>(static_cast<const Record*>(context));
    // Two bodies with one thread number at the same time would share scratch.
    EXPECT_FALSE(self.inside[static_cast<std::size_t>(thread)].exchange(true));
    for (std::int64_t i = begin; i < end; ++i) ++self.ran[static_cast<std::size_t>(i)];
    self.shortest = std::min(self.shortest.load(), end - begin);
    self.highest_thread = std::max(self.highest_thread.load(), thread);
    self.inside[static_cast<std::size_t>(thread)] = false;
  }

  bool EachOnce() const {
    return std::ranges::all_of(ran, [](const auto& count) { return count == 1; });
  }

  std::vector<std::atomic<int>> ran;
  std::array<std::atomic<bool>, kMaxThreads> inside{};
  std::atomic<std::int64_t> shortest{INT64_MAX};
  std::atomic<int> highest_thread{0};
};

int Cpus() {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  return CPU_COUNT(&set);
}

TEST(ThreadPool_Gather, GivesNoMoreThanWantedAndThanCpus) {
  ThreadPool pool;
  EXPECT_EQ(pool.Gather(1).threads(), 1);
  EXPECT_EQ(pool.Gather(2).threads(), std::min(2, Cpus()));
  EXPECT_EQ(pool.Gather(0).threads(), std::min(Cpus(), kMaxThreads));
  EXPECT_EQ(pool.Gather(100000).threads(), std::min(Cpus(), kMaxThreads));
}

TEST(ThreadPool_Gather, FollowsTheCallersAffinity) {
  ThreadPool pool;
  (void)pool.Gather(0);
  int threads = 0;
  std::thread pinned([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    threads = pool.Gather(0).threads();
  });
  pinned.join();
  EXPECT_EQ(threads, 1);
}

TEST(ThreadPool_Run, EveryTaskOnce_AnyCountsAndThreads) {
  ThreadPool pool;
  for (const int wanted : {1, 2, 3, 8}) {
    ThreadPool::Team team = pool.Gather(wanted);
    for (const std::int64_t tasks : {0, 1, 2, 3, 7, 8, 9, 1000, 100003}) {
      for (const std::int64_t min_chunk : {1, 3, 5000}) {
        Record record(tasks);
        team.Run(tasks, {min_chunk}, &record, Record::Body);
        EXPECT_TRUE(record.EachOnce()) << tasks << " tasks on " << team.threads();
        EXPECT_LT(record.highest_thread, team.threads());
        if (tasks > 0) EXPECT_GE(record.shortest, std::min(tasks, (min_chunk + 3) / 4));
      }
    }
  }
}

TEST(ThreadPool_Run, ManyInARowAfterSleep_EveryTaskOnce) {
  ThreadPool pool;
  for (int round = 0; round < 20; ++round) {
    ThreadPool::Team team = pool.Gather(0);
    for (int i = 0; i < 200; ++i) {
      Record record(64);
      team.Run(64, {1}, &record, Record::Body);
      ASSERT_TRUE(record.EachOnce());
    }
    // Long enough for the workers to park.
    std::this_thread::sleep_for(std::chrono::microseconds(4 * kSpinMicroseconds));
  }
}

// Eight CPUs, whatever this machine has: what counts here is who gets which workers.
cpu_set_t EightCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int cpu = 0; cpu < 8; ++cpu) CPU_SET(cpu, &set);
  return set;
}

TEST(ThreadPool_Run, SeveralCallersAtOnce_EveryTaskOnce) {
  for (auto* const cpus : {AllowedCpus, EightCpus}) {
    ThreadPool pool(cpus);
    std::atomic<int> wrong{0};
    std::vector<std::thread> callers;
    for (int caller = 0; caller < 3; ++caller) {
      callers.emplace_back([&, caller] {
        for (int i = 0; i < 300; ++i) {
          ThreadPool::Team team = pool.Gather(1 + (i + caller) % 4);
          for (int launch = 0; launch < 3; ++launch) {
            Record record(200);
            team.Run(200, {1}, &record, Record::Body);
            if (!record.EachOnce()) ++wrong;
          }
        }
      });
    }
    for (std::thread& caller : callers) caller.join();
    EXPECT_EQ(wrong, 0);
  }
}

TEST(ThreadPool_Run, MoreCallersThanTeams_EveryTaskOnce) {
  ThreadPool pool(EightCpus);
  std::vector<ThreadPool::Team> teams;
  for (int i = 0; i < kMaxTeams; ++i) teams.push_back(pool.Gather(2));
  EXPECT_EQ(pool.Gather(2).threads(), 1);
  teams.push_back(pool.Gather(2));
  for (ThreadPool::Team& team : teams) {
    Record record(200);
    team.Run(200, {1}, &record, Record::Body);
    EXPECT_TRUE(record.EachOnce());
  }
  teams.clear();
  EXPECT_EQ(pool.Gather(2).threads(), 2);
}

// A launch whose chunks wait in it until so many threads are inside at once, or for too long.
class Meeting {
 public:
  explicit Meeting(int threads) : wanted_(threads) {}

  static void Body(const void* context, std::int64_t, std::int64_t, ThreadPool::Share share) {
    const int thread = share.thread;
    auto& self = *const_cast<Meeting*>(static_cast<const Meeting*>(context));
    if (!self.seen_[static_cast<std::size_t>(thread)].exchange(true)) ++self.met_;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (self.met_ < self.wanted_ && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
  }
  int met() const { return met_; }

 private:
  const int wanted_;
  std::array<std::atomic<bool>, kMaxThreads> seen_{};
  std::atomic<int> met_{0};
};

int Meet(ThreadPool::Team& team, int threads) {
  Meeting meeting(threads);
  team.Run(1000, {1}, &meeting, Meeting::Body);
  return meeting.met();
}

TEST(ThreadPool_Gather, OneCaller_HasAllThreads) {
  ThreadPool pool(EightCpus);
  ThreadPool::Team team = pool.Gather(0);
  EXPECT_EQ(Meet(team, 8), 8);
  EXPECT_EQ(Meet(team, 8), 8);
}

TEST(ThreadPool_Gather, TwoCallers_HaveHalfOfTheThreadsEach) {
  ThreadPool pool(EightCpus);
  ThreadPool::Team first = pool.Gather(0);
  EXPECT_EQ(Meet(first, 8), 8);
  ThreadPool::Team second = pool.Gather(0);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Meet(second, 4), 4);
    EXPECT_EQ(Meet(first, 4), 4);
  }
  std::thread other([&] { EXPECT_EQ(Meet(second, 4), 4); });
  EXPECT_EQ(Meet(first, 4), 4);
  other.join();
}

TEST(ThreadPool_Gather, WhoWantsLittle_LeavesTheRest) {
  ThreadPool pool(EightCpus);
  ThreadPool::Team much = pool.Gather(0);
  ThreadPool::Team little = pool.Gather(2);
  EXPECT_EQ(Meet(little, 2), 2);
  EXPECT_EQ(Meet(much, 6), 6);
}

TEST(ThreadPool_Gather, WhoStays_GetsTheWorkersOfWhoHasLeft) {
  ThreadPool pool(EightCpus);
  ThreadPool::Team first = pool.Gather(0);
  {
    ThreadPool::Team second = pool.Gather(0);
    EXPECT_EQ(Meet(second, 4), 4);
    EXPECT_EQ(Meet(first, 4), 4);
  }
  // Not at once: who left a moment ago is expected back.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  bool has_all = false;
  while (!has_all && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::microseconds(kSpinMicroseconds));
    Record record(1000);
    first.Run(1000, {1}, &record, Record::Body);
    has_all = record.highest_thread == 7;
  }
  EXPECT_TRUE(has_all);
  EXPECT_EQ(Meet(first, 8), 8);
}

// The first caller is inside a long launch all the time.
TEST(ThreadPool_Gather, DuringALongLaunch_WorkersComeAfterTheirChunks) {
  struct Long {
    std::atomic<int> begun{0};
    std::atomic<bool> joined{false};
    std::atomic<bool> over{false};
  } state;
  ThreadPool pool(EightCpus);
  std::thread caller([&] {
    ThreadPool::Team first = pool.Gather(0);
    first.Run(1000, {1}, &state,
              [](const void* context, std::int64_t, std::int64_t, ThreadPool::Share) {
                auto& self = *const_cast<Long*>(static_cast<const Long*>(context));
                const std::atomic<bool>& awaited = ++self.begun <= 8 ? self.joined : self.over;
                while (!awaited) std::this_thread::yield();
              });
  });
  while (state.begun < 8) std::this_thread::yield();
  ThreadPool::Team second = pool.Gather(0);
  state.joined = true;
  EXPECT_EQ(Meet(second, 4), 4);
  state.over = true;
  caller.join();
}

TEST(ThreadPool_Fork, ChildStartsItsOwnWorkers) {
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "ThreadSanitizer lets no child of a threaded process start threads.";
#endif
  const auto pool = std::make_unique<ThreadPool>();
  Record before(100);
  pool->Gather(0).Run(100, {1}, &before, Record::Body);
  const pid_t child = fork();
  if (child == 0) {
    Record record(10000);
    pool->Gather(0).Run(10000, {1}, &record, Record::Body);
    _exit(record.EachOnce() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  Record after(100);
  pool->Gather(0).Run(100, {1}, &after, Record::Body);
  EXPECT_TRUE(after.EachOnce());
}

TEST(ThreadPool_Fork, ChildDestroysThePoolWithoutCallingIt) {
  auto pool = std::make_unique<ThreadPool>();
  Record before(100);
  pool->Gather(0).Run(100, {1}, &before, Record::Body);
  const pid_t child = fork();
  if (child == 0) {
    pool.reset();
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace stoker::cpu
