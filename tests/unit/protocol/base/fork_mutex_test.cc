#include "protocol/base/fork_mutex.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <future>
#include <memory>
#include <mutex>
#include <thread>

namespace stoker {
namespace {

TEST(ForkMutex, HeldByAnotherThread_IsOpenInAForkedProcess) {
  const auto before = std::make_unique<ForkMutex>();
  auto gone = std::make_unique<ForkMutex>();
  ForkMutex mutex;
  gone.reset();
  std::promise<void> held;
  std::promise<void> end;
  std::thread holder([&] {
    const std::lock_guard lock(mutex);
    const std::lock_guard other(*before);
    held.set_value();
    end.get_future().wait();
  });
  held.get_future().wait();
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);  // Ends a child that waits for a thread which is not there.
    {
      const std::lock_guard lock(mutex);
      const std::lock_guard other(*before);
    }
    _exit(EXIT_SUCCESS);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  end.set_value();
  holder.join();
  const std::lock_guard lock(mutex);
}

}  // namespace
}  // namespace stoker
