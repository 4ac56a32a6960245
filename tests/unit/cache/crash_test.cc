// Kill -9 of the process that writes, at every step: nothing, or something whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "tests/unit/cache/child_process.h"
#include "tests/unit/cache/sample_artifact.h"
#include "tests/unit/cache/sound_cache.h"
#include "tests/unit/temp_folder.h"

namespace stoker {
namespace {

std::unique_ptr<CacheStack> Reopen(const TempFolder& folder) {
  StackConfig config;
  config.path = folder.path();
  config.min_free_disk_bytes = 0;
  config.load_patience = std::chrono::minutes(10);
  auto stack = CacheStack::Open(config, nullptr);
  STOKER_CHECK(stack.ok());
  EXPECT_FALSE((*stack)->Snapshot().database_was_moved_aside);
  return std::move(*stack);
}

class CrashAtStep : public testing::TestWithParam<int> {};

TEST_P(CrashAtStep, Reopen_ShowsAllStepsDoneAndNoEntryBeforeTheLast) {
  const int steps = GetParam();
  TempFolder folder;
  ChildProcess child({STOKER_CRASH_WRITER, folder.path(), "step", std::to_string(steps)});
  ASSERT_EQ(child.ReadLine(), "open");
  ASSERT_EQ(child.ReadLine(), "done");
  child.Kill();

  const auto stack = Reopen(folder);
  const SampleArtifact sample(7);
  for (int step = 0; step < 3; ++step) {
    const std::string& bytes = sample.blobs()[static_cast<std::size_t>(step)];
    EXPECT_EQ(*stack->blobs().Contains(Sha256Of(bytes)), step < steps) << step;
  }
  const Result<ActionEntry> entry = stack->actions().Lookup("default", sample.key());
  EXPECT_EQ(entry.ok(), steps == SampleArtifact::kSteps);
  if (entry.ok()) EXPECT_EQ(*entry, sample.entry());
  EXPECT_EQ(ExpectSound(*stack), 0);
  // What was left behind without an entry is found, and goes.
  std::atomic<bool> stop = false;
  const auto collected =
      stack->CollectGarbage({.to_bytes = {}, .unnamed_age_ns = -1}, {.progress = {}, .stop = stop});
  ASSERT_TRUE(collected.ok());
  EXPECT_EQ(collected->unnamed_blobs,
            steps == SampleArtifact::kSteps ? 0u : static_cast<unsigned>(steps));
  EXPECT_EQ(collected->stored_bytes > 0, steps == SampleArtifact::kSteps);
  EXPECT_TRUE(sample.StoreAll(*stack).ok());
  EXPECT_TRUE(stack->actions().Lookup("default", sample.key()).ok());
}

INSTANTIATE_TEST_SUITE_P(Steps, CrashAtStep, testing::Range(0, SampleArtifact::kSteps + 1));

TEST(Crash, KilledWhileItPublishes_KeepsWhatWasAcknowledged) {
  TempFolder folder;
  int first = 0;
  for (const int acknowledged : {1, 5, 23}) {
    // So far ahead of this process it may come, which on a busy machine is late to kill it.
    const std::string count = std::to_string(acknowledged + 20);
    ChildProcess child({STOKER_CRASH_WRITER, folder.path(), "run", std::to_string(first), count});
    ASSERT_EQ(child.ReadLine(), "open");
    for (int i = 0; i < acknowledged; ++i) ASSERT_EQ(child.ReadLine(), std::to_string(first + i));
    child.Kill();
    first += acknowledged;

    const auto stack = Reopen(folder);
    for (int i = 0; i < first; ++i) {
      const SampleArtifact sample(i);
      const Result<ActionEntry> entry = stack->actions().Lookup("default", sample.key());
      ASSERT_TRUE(entry.ok()) << i << ": " << entry.error().message;
      EXPECT_EQ(*entry, sample.entry());
    }
    EXPECT_EQ(ExpectSound(*stack), 0);
  }
}

TEST(Crash, SecondProcess_IsRefusedAndToldWhoHoldsTheFolder) {
  TempFolder folder;
  ChildProcess holder({STOKER_CRASH_WRITER, folder.path(), "hold"});
  ASSERT_EQ(holder.ReadLine(), "open");
  StackConfig config;
  config.path = folder.path();
  const auto refused = CacheStack::Open(config, nullptr);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(refused.error().message, testing::HasSubstr(folder.path()));
  EXPECT_THAT(refused.error().message,
              testing::HasSubstr("process " + std::to_string(holder.pid()) + " (cache_crash"));
  holder.Kill();
  EXPECT_TRUE(CacheStack::Open(config, nullptr).ok());  // The lock died with its holder.
}

TEST(Crash, SameProcessTwice_IsRefused) {
  TempFolder folder;
  const auto stack = Reopen(folder);
  StackConfig config;
  config.path = folder.path();
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto refused = CacheStack::Open(config, nullptr);
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().message, testing::HasSubstr("this process already"));
  }
  // The attempts did not end the lock of the one that holds it.
  ChildProcess other({STOKER_CRASH_WRITER, folder.path(), "hold"});
  EXPECT_THAT(other.ReadLine(),
              testing::AllOf(testing::StartsWith("error: "), testing::HasSubstr("held by")));
}

}  // namespace
}  // namespace stoker
