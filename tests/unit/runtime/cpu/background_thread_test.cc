#include "runtime/cpu/background_thread.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <memory>
#include <vector>

namespace stoker::cpu {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST(BackgroundThread, TasksRunInOrder) {
  BackgroundThread background(milliseconds(0));
  std::vector<int> ran;
  for (const int number : {1, 2, 3}) background.Post([&ran, number] { ran.push_back(number); });
  EXPECT_TRUE(background.Drain(hours(1)));
  EXPECT_EQ(ran, (std::vector<int>{1, 2, 3}));
}

TEST(BackgroundThread, End_RunsWhatWasPosted) {
  int ran = 0;
  {
    BackgroundThread background(hours(1));
    for (int i = 0; i < 3; ++i) background.Post([&ran] { ++ran; });
  }
  EXPECT_EQ(ran, 3);
}

TEST(BackgroundThread, Drain_IsNotPatient) {
  BackgroundThread background(hours(1));
  std::atomic<bool> was_awaited{false};
  background.Post([&] { was_awaited = background.IsAwaited(); });
  EXPECT_FALSE(background.IsAwaited());
  EXPECT_TRUE(background.Drain(hours(1)));
  EXPECT_TRUE(was_awaited);
  EXPECT_FALSE(background.IsAwaited());
}

TEST(BackgroundThread, Drain_TaskThatTakesLonger_False) {
  BackgroundThread background(milliseconds(0));
  std::promise<void> may_end;
  background.Post([end = may_end.get_future().share()] { end.wait(); });
  EXPECT_FALSE(background.Drain(milliseconds(1)));
  may_end.set_value();
  EXPECT_TRUE(background.Drain(hours(1)));
}

TEST(BackgroundThread, Fork_ChildWaitsForNothing) {
  auto background = std::make_unique<BackgroundThread>(milliseconds(0));
  std::promise<void> may_end;
  background->Post([end = may_end.get_future().share()] { end.wait(); });
  const pid_t child = fork();
  if (child == 0) {
    bool ran = false;
    background->Post([&ran] { ran = true; });
    const bool is_idle = background->Drain(hours(1));
    const bool is_elsewhere = background->IsElsewhere();
    background.reset();
    _exit(!ran && is_idle && is_elsewhere ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  may_end.set_value();
}

}  // namespace
}  // namespace stoker::cpu
