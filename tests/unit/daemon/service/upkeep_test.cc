#include "daemon/service/store/upkeep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/unit/daemon/service/coroutines.h"
#include "tests/unit/daemon/service/forwarding_stack.h"
#include "tests/unit/wait_until.h"

namespace stoker {
namespace {

using testing::HasSubstr;

// A stack whose verification goes on until it is let go or stopped.
class WaitingStack : public ForwardingStack {
 public:
  Result<VerifyReport> Verify(const UpkeepWatch& watch) override {
    watch.progress("verifying", 3, 7);
    begun = true;
    while (!watch.stop && !released) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    stopped = watch.stop.load();
    if (stopped) return Unavailable("stopped");
    return VerifyReport{.blobs = 7};
  }

  std::atomic<bool> begun = false;
  std::atomic<bool> released = false;
  std::atomic<bool> stopped = false;
};

class UpkeepServiceTest : public testing::Test {
 protected:
  ~UpkeepServiceTest() override {
    upkeep_.Stop();
    coroutines_.Stop();
  }

  std::future<Status> Verify(const std::string& who) {
    return coroutines_.Start(upkeep_.Verify(who, send_));
  }

  WaitingStack stack_;
  std::atomic<bool> draining_ = false;
  std::atomic<bool> is_gone_ = false;
  std::mutex mutex_;
  std::vector<wire::UpkeepEvent> events_;
  const Upkeep::Send send_ =
      [this](const wire::UpkeepEvent& event) -> boost::asio::awaitable<Status> {
    if (is_gone_) co_return Unavailable("gone");
    const std::lock_guard lock(mutex_);
    events_.push_back(event);
    co_return Ok();
  };
  Coroutines coroutines_;
  Upkeep upkeep_{
      stack_, {.is_draining = [this] { return draining_.load(); }, .log = [](std::string_view) {}}};
};

TEST_F(UpkeepServiceTest, Run_SendsProgressAndThenTheReport) {
  auto run = Verify("somebody");
  WaitUntil("progress is told", [&] {
    const std::lock_guard lock(mutex_);
    return !events_.empty() && std::get<wire::Progress>(events_.back()).done == 3;
  });
  stack_.released = true;
  ASSERT_TRUE(run.get().ok());
  EXPECT_EQ(std::get<wire::UpkeepReport>(events_.back()).counts[0].value, 7u);
}

TEST_F(UpkeepServiceTest, Run_WhileAnotherOneRuns_IsRefusedAndToldWhose) {
  auto run = Verify("user 1000");
  WaitUntil("it has begun", [&] { return stack_.begun.load(); });
  const Status refused = Verify("token 'ci'").get();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(refused.error().message, HasSubstr("verification that user 1000 has asked for"));
  const Status other = coroutines_.Run(upkeep_.CollectGarbage({}, "token 'ci'", send_));
  EXPECT_EQ(other.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_TRUE(upkeep_.is_running());
  stack_.released = true;
  EXPECT_TRUE(run.get().ok());
  EXPECT_FALSE(upkeep_.is_running());
  EXPECT_TRUE(coroutines_.Run(upkeep_.CollectGarbage({}, "token 'ci'", send_)).ok());
}

TEST_F(UpkeepServiceTest, Run_WhoseAskerIsGone_IsStopped) {
  auto run = Verify("somebody");
  WaitUntil("it has begun", [&] { return stack_.begun.load(); });
  is_gone_ = true;
  EXPECT_FALSE(run.get().ok());
  WaitUntil("it is stopped", [&] { return stack_.stopped.load(); });
}

TEST_F(UpkeepServiceTest, Run_WhileTheDaemonDrains_IsStoppedAndSaysSo) {
  auto run = Verify("somebody");
  WaitUntil("it has begun", [&] { return stack_.begun.load(); });
  draining_ = true;
  EXPECT_TRUE(run.get().ok());
  EXPECT_TRUE(stack_.stopped);
  EXPECT_EQ(std::get<wire::ErrorReply>(events_.back()).code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace stoker
