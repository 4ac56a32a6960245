#include "runtime/cpu/queue.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "runtime/executable.h"
#include "tests/unit/runtime/cpu/test_plans.h"

namespace stoker::cpu {
namespace {

std::ptrdiff_t ThreadsOfThisProcess() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

class QueueTest : public testing::Test {
 protected:
  // Runs a chain of launches whose tasks are worth a thread in pieces of `min_tasks_per_chunk`.
  void RunChain(std::int64_t n, std::int64_t min_tasks_per_chunk) {
    const PlanBuilder builder = Chain(10, n, min_tasks_per_chunk);
    const auto executable =
        Executable::Load(*device_, builder.Bytes(), builder.artifact.request_key, builder.Source())
            .value();
    Queue queue(*device_, 0);
    std::shared_ptr<const Binding> binding;
    ASSERT_TRUE(executable->BindParameters({}, queue, &binding).ok());
    const std::vector<float> in(static_cast<std::size_t>(n), 2);
    std::vector<float> out(static_cast<std::size_t>(n));
    const std::array<const void*, 1> inputs = {in.data()};
    const std::array<void*, 1> outputs = {out.data()};
    const auto plan = executable->PlanFor({}).value();
    ASSERT_TRUE(executable->Run(*plan, *binding, {inputs, outputs}, queue).ok());
    EXPECT_EQ(out, std::vector<float>(static_cast<std::size_t>(n), 22));
  }

  const std::unique_ptr<Device> device_ = Device::Create().value();
};

TEST_F(QueueTest, Run_NoLaunchWorthASecondThread_StartsNone) {
  const auto before = ThreadsOfThisProcess();
  RunChain(1000, 501);
  RunChain(1000, 1000);
  EXPECT_EQ(ThreadsOfThisProcess(), before);
}

TEST_F(QueueTest, Run_LaunchesWorthSeveralThreads_StartsThem) {
  const cpu_set_t cpus = AllowedCpus();
  if (CPU_COUNT(&cpus) == 1) GTEST_SKIP() << "There is one CPU.";
  const auto before = ThreadsOfThisProcess();
  RunChain(1000, 500);
  EXPECT_GT(ThreadsOfThisProcess(), before);
}

TEST_F(QueueTest, Run_NoTasks_CallsNoKernel) { RunChain(0, 1); }

}  // namespace
}  // namespace stoker::cpu
