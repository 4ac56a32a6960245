#include "runtime/cpu/thread_pool.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace stoker::cpu {
namespace {

// Counts how often each task ran, and on which threads.
struct Record {
  explicit Record(std::int64_t tasks) : ran(static_cast<std::size_t>(tasks)) {}

  static void Body(const void* context, std::int64_t begin, std::int64_t end, int thread) {
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

TEST(ThreadPool_Prepare, GivesNoMoreThanWantedAndThanCpus) {
  ThreadPool pool;
  EXPECT_EQ(pool.Prepare(1), 1);
  EXPECT_EQ(pool.Prepare(2), std::min(2, Cpus()));
  EXPECT_EQ(pool.Prepare(0), std::min(Cpus(), kMaxThreads));
  EXPECT_EQ(pool.Prepare(100000), std::min(Cpus(), kMaxThreads));
}

TEST(ThreadPool_Prepare, FollowsTheCallersAffinity) {
  ThreadPool pool;
  pool.Prepare(0);
  int threads = 0;
  std::thread pinned([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    threads = pool.Prepare(0);
  });
  pinned.join();
  EXPECT_EQ(threads, 1);
}

TEST(ThreadPool_Run, EveryTaskOnce_AnyCountsAndThreads) {
  ThreadPool pool;
  for (const int wanted : {1, 2, 3, 8}) {
    const int threads = pool.Prepare(wanted);
    for (const std::int64_t tasks : {0, 1, 2, 3, 7, 8, 9, 1000, 100003}) {
      for (const std::int64_t min_chunk : {1, 3, 5000}) {
        Record record(tasks);
        pool.Run(threads, tasks, min_chunk, &record, Record::Body);
        EXPECT_TRUE(record.EachOnce()) << tasks << " tasks on " << threads;
        EXPECT_LT(record.highest_thread, threads);
        if (tasks > 0) EXPECT_GE(record.shortest, std::min(tasks, min_chunk));
      }
    }
  }
}

TEST(ThreadPool_Run, ManyInARowAfterSleep_EveryTaskOnce) {
  ThreadPool pool;
  for (int round = 0; round < 20; ++round) {
    const int threads = pool.Prepare(0);
    for (int i = 0; i < 200; ++i) {
      Record record(64);
      pool.Run(threads, 64, 1, &record, Record::Body);
      ASSERT_TRUE(record.EachOnce());
    }
    // Long enough for the workers to park.
    std::this_thread::sleep_for(std::chrono::microseconds(4 * kSpinMicroseconds));
  }
}

TEST(ThreadPool_Run, SeveralCallersAtOnce_EveryTaskOnce) {
  ThreadPool pool;
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 3; ++caller) {
    callers.emplace_back([&, caller] {
      for (int i = 0; i < 300; ++i) {
        const int threads = pool.Prepare(1 + (i + caller) % 4);
        Record record(200);
        pool.Run(threads, 200, 1, &record, Record::Body);
        if (!record.EachOnce()) ++wrong;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadPool_Fork, ChildStartsItsOwnWorkers) {
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "ThreadSanitizer lets no child of a threaded process start threads.";
#endif
  const auto pool = std::make_unique<ThreadPool>();
  Record before(100);
  pool->Run(pool->Prepare(0), 100, 1, &before, Record::Body);
  const pid_t child = fork();
  if (child == 0) {
    Record record(10000);
    pool->Run(pool->Prepare(0), 10000, 1, &record, Record::Body);
    _exit(record.EachOnce() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  Record after(100);
  pool->Run(pool->Prepare(0), 100, 1, &after, Record::Body);
  EXPECT_TRUE(after.EachOnce());
}

TEST(ThreadPool_Fork, ChildDestroysThePoolWithoutCallingIt) {
  auto pool = std::make_unique<ThreadPool>();
  Record before(100);
  pool->Run(pool->Prepare(0), 100, 1, &before, Record::Body);
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
