#include "runtime/cpu/threads/cut.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace stoker::cpu {
namespace {

std::int64_t LongestShare(const Cut& cut) {
  std::int64_t longest = 0;
  for (int i = 0; i < cut.threads; ++i) {
    longest = std::max(longest, cut.BeginOf(cut.FirstOf(i + 1)) - cut.BeginOf(cut.FirstOf(i)));
  }
  return longest;
}

TEST(CutTasks, AnyTasksAndThreads_SharesAreAsEqualAsTasksAllow) {
  for (const std::int64_t tasks : {1, 2, 3, 7, 16, 17, 24, 31, 33, 96, 100, 1571, 100003}) {
    for (const std::int64_t min_tasks : {1, 2, 3, 10, 1000}) {
      for (const int threads : {1, 2, 3, 4, 8, 16, 64, kMaxThreads}) {
        const std::int64_t min_call = 1 + (tasks + min_tasks + threads) % 31;
        SCOPED_TRACE(testing::Message() << tasks << " tasks, at least " << min_tasks << ", "
                                        << min_call << " a call, " << threads << " threads");
        const Cut cut = CutTasks(tasks, {min_tasks, min_call}, threads);
        EXPECT_EQ(cut.threads, CutTasks(tasks, {min_tasks}, threads).threads);
        if (cut.chunks != cut.threads) EXPECT_GE(tasks / cut.chunks, min_call);
        ASSERT_GE(cut.threads, 1);
        ASSERT_LE(cut.threads, threads);
        ASSERT_LE(cut.chunks, std::min<std::int64_t>(tasks, cut.threads * kChunksPerThread));
        EXPECT_EQ(cut.BeginOf(0), 0);
        EXPECT_EQ(cut.BeginOf(cut.chunks), tasks);
        for (std::int64_t i = 0; i < cut.chunks; ++i) EXPECT_LT(cut.BeginOf(i), cut.BeginOf(i + 1));
        EXPECT_EQ(LongestShare(cut), (tasks + cut.threads - 1) / cut.threads);
      }
    }
  }
}

TEST(CutTasks, MoreThreads_NeverMakeTheLongestShareLonger) {
  for (const std::int64_t tasks : {1, 5, 24, 48, 96, 97, 1571}) {
    for (const std::int64_t min_tasks : {1, 3, 10}) {
      std::int64_t before = tasks;
      for (int threads = 1; threads <= 64; ++threads) {
        const std::int64_t longest = LongestShare(CutTasks(tasks, {min_tasks}, threads));
        EXPECT_LE(longest, before) << tasks << " tasks, " << threads << " threads";
        before = longest;
      }
    }
  }
}

TEST(CutTasks, EachCase) {
  const struct {
    std::int64_t tasks, min_tasks, min_call;
    int threads, expected_threads;
    std::int64_t chunks;
  } cases[] = {
      {24, 1, 1, 16, 12, 24},   // Sixteen would take as long.
      {96, 3, 1, 16, 16, 32},   // Two chunks each rather than one or two.
      {96, 1, 1, 16, 16, 64},   // Four each, so that one that is late is helped.
      {96, 1, 24, 2, 2, 4},     // Two each: what a call does once is worth 24 tasks.
      {96, 1, 24, 16, 16, 16},  // As many threads as otherwise.
      {100, 60, 1, 16, 1, 1},   // Not worth a second one.
      {100, 50, 1, 16, 8, 8},   // Worth a quarter of a chunk each: 13 tasks.
      {100, 50, 1, 2, 2, 2},   {1000, 1, 1, 1, 1, 1},
  };
  for (const auto& c : cases) {
    const Cut cut = CutTasks(c.tasks, {c.min_tasks, c.min_call}, c.threads);
    EXPECT_EQ(cut.threads, c.expected_threads) << c.tasks << " " << c.min_tasks;
    EXPECT_EQ(cut.chunks, c.chunks) << c.tasks << " " << c.min_tasks;
  }
}

}  // namespace
}  // namespace stoker::cpu
