#include "cache/stack/stack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "cache/memory/memory_blob_store.h"
#include "tests/unit/cache/fake_blob_store.h"
#include "tests/unit/cache/sample_artifact.h"
#include "tests/unit/temp_folder.h"
#include "tests/unit/wait_until.h"

namespace stoker {
namespace {

StackConfig ConfigOf(const TempFolder& folder) {
  StackConfig config;
  config.path = folder.path();
  config.min_free_disk_bytes = 0;
  config.load_patience = std::chrono::minutes(10);
  return config;
}

TEST(CacheStack, Reopen_KeepsEverything) {
  TempFolder folder;
  const SampleArtifact sample(1);
  {
    const auto stack = *CacheStack::Open(ConfigOf(folder), nullptr);
    ASSERT_TRUE(sample.StoreAll(*stack).ok());
    ASSERT_TRUE(stack->counters().Add({{"hits", 3}, {"seconds_saved", 0.5}}).ok());
  }
  const auto stack = *CacheStack::Open(ConfigOf(folder), nullptr);
  EXPECT_EQ(*stack->actions().Lookup("default", sample.key()), sample.entry());
  for (const std::string& bytes : sample.blobs()) {
    EXPECT_EQ(stack->blobs().Get(Sha256Of(bytes))->bytes(), bytes);
  }
  EXPECT_EQ(*stack->counters().Load(), (Counters{{"hits", 3}, {"seconds_saved", 0.5}}));
}

TEST(CacheStack, Snapshot_TellsWhichTierAnswered) {
  TempFolder folder;
  const SampleArtifact sample(1);
  {
    const auto stack = *CacheStack::Open(ConfigOf(folder), nullptr);
    ASSERT_TRUE(sample.StoreAll(*stack).ok());
  }
  const auto stack = *CacheStack::Open(ConfigOf(folder), std::make_unique<FakeBlobStore>());
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(stack->blobs().Get(sample.entry().artifact).ok());
  }
  ASSERT_FALSE(stack->blobs().Get(Sha256Of("nowhere")).ok());
  const StackSnapshot snapshot = stack->Snapshot();
  EXPECT_EQ(snapshot.requests.hits, 3u);
  EXPECT_EQ(snapshot.requests.misses, 1u);
  ASSERT_EQ(snapshot.tiers.size(), 3u);
  EXPECT_EQ(snapshot.tiers[0].name, "memory");
  EXPECT_EQ(snapshot.tiers[0].metrics.hits, 2u);
  EXPECT_EQ(snapshot.tiers[0].usage->count, 1u);
  EXPECT_EQ(snapshot.tiers[1].name, "disk");
  EXPECT_EQ(snapshot.tiers[1].metrics.hits, 1u);
  EXPECT_EQ(snapshot.tiers[1].usage->count, 3u);
  EXPECT_EQ(snapshot.tiers[1].usage->Of(BlobKind::kKernel).count, 2u);
  EXPECT_EQ(snapshot.tiers[2].name, "shared");
  EXPECT_EQ(snapshot.tiers[2].metrics.misses, 1u);
  EXPECT_EQ(snapshot.namespaces.at("default").count, 1u);
  EXPECT_GT(snapshot.disk_file_bytes, 60000u);
  EXPECT_FALSE(snapshot.database_was_moved_aside);
}

TEST(CacheStack, SharedTier_FillsTheLocalOnesAndMayBeAway) {
  TempFolder folder;
  auto tier = std::make_unique<FakeBlobStore>();
  FakeBlobStore& shared = *tier;
  const Digest digest = *PutBytes(shared, "from a colleague", BlobKind::kKernel);
  const auto stack = *CacheStack::Open(ConfigOf(folder), std::move(tier));
  EXPECT_EQ(stack->blobs().Get(digest)->bytes(), "from a colleague");
  shared.failure = Unavailable("away");
  EXPECT_EQ(stack->blobs().Get(digest)->bytes(), "from a colleague");
  EXPECT_TRUE(PutBytes(stack->blobs(), "local", BlobKind::kKernel).ok());
  EXPECT_EQ(stack->Snapshot().tiers[1].usage->count, 2u);
}

TEST(CacheStack, Maintain_RemovesEntriesWhoseBlobsWereEvicted) {
  TempFolder folder;
  StackConfig config = ConfigOf(folder);
  config.max_bytes = 256 * 1024;
  config.memory_bytes = 64 * 1024;
  const auto stack = *CacheStack::Open(config, nullptr);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(SampleArtifact(i).StoreAll(*stack).ok());
  ASSERT_TRUE(stack->Maintain().ok());
  const StackSnapshot snapshot = stack->Snapshot();
  EXPECT_GT(snapshot.incomplete_count, 0u);
  EXPECT_EQ(snapshot.namespaces.at("default").count, 10 - snapshot.incomplete_count);
  EXPECT_TRUE(stack->actions().Lookup("default", SampleArtifact(9).key()).ok());
  EXPECT_EQ(stack->actions().Lookup("default", SampleArtifact(0).key()).error().code,
            ErrorCode::kNotFound);
}

TEST(CacheStack, Lookup_KeepsAWholeArtifactHot) {
  TempFolder folder;
  StackConfig config = ConfigOf(folder);
  config.max_bytes = 256 * 1024;
  config.memory_bytes = 1024 * 1024;  // So that no blob is ever read from the disk.
  const auto stack = *CacheStack::Open(config, nullptr);
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(SampleArtifact(i).StoreAll(*stack).ok());
    ASSERT_TRUE(stack->actions().Lookup("default", SampleArtifact(0).key()).ok()) << i;
  }
}

TEST(CacheStack, Quota_OfANamespace_IsEnforced) {
  TempFolder folder;
  StackConfig config = ConfigOf(folder);
  config.quotas.bytes = {{"default", 130 * 1024}};
  const auto stack = *CacheStack::Open(config, nullptr);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(SampleArtifact(i).StoreAll(*stack).ok());
  EXPECT_FALSE(stack->actions().Lookup("default", SampleArtifact(0).key()).ok());
  EXPECT_TRUE(stack->actions().Lookup("default", SampleArtifact(2).key()).ok());
  EXPECT_EQ(stack->Snapshot().namespaces.at("default").limit_bytes, 130u * 1024);
}

TEST(CacheStack, Open_LongRecords_ServesBeforeTheyAreRead) {
  TempFolder folder;
  const SampleArtifact sample(1);
  {
    const auto stack = *CacheStack::Open(ConfigOf(folder), nullptr);
    ASSERT_TRUE(sample.StoreAll(*stack).ok());
  }
  StackConfig config = ConfigOf(folder);
  config.load_patience = std::chrono::milliseconds(0);
  const auto stack = *CacheStack::Open(config, nullptr);
  EXPECT_EQ(*stack->actions().Lookup("default", sample.key()), sample.entry());
  EXPECT_TRUE(stack->blobs().Get(sample.entry().artifact).ok());
  EXPECT_TRUE(SampleArtifact(2).StoreAll(*stack).ok());
  WaitUntil("the records are read", [&] { return !stack->Snapshot().loading; });
  EXPECT_EQ(stack->Snapshot().tiers[1].usage->count, 6u);
  EXPECT_EQ(stack->Snapshot().namespaces.at("default").count, 2u);
}

TEST(CacheStack, Pin_OutlivesEvictionAndRestart) {
  TempFolder folder;
  StackConfig config = ConfigOf(folder);
  config.max_bytes = 256 * 1024;
  config.memory_bytes = 64 * 1024;
  const SampleArtifact sample(0);
  for (int round = 0; round < 2; ++round) {
    const auto stack = *CacheStack::Open(config, nullptr);
    if (round == 0) {
      ASSERT_TRUE(sample.StoreAll(*stack).ok());
      ASSERT_TRUE(stack->pins().Pin("default", sample.key()).ok());
    }
    for (int i = 1; i < 10; ++i) {
      ASSERT_TRUE(SampleArtifact(10 * round + i).StoreAll(*stack).ok());
    }
    EXPECT_EQ(*stack->actions().Lookup("default", sample.key()), sample.entry());
    EXPECT_EQ(stack->Snapshot().pins.bytes, sample.entry().bytes);
  }
}

TEST(CacheStack, CollectGarbage_DropsUnnamed_EvictsAndGivesSpaceBack) {
  TempFolder folder;
  const auto stack = *CacheStack::Open(ConfigOf(folder), nullptr);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(SampleArtifact(i).StoreAll(*stack).ok());
  ASSERT_TRUE(SampleArtifact(10).Store(*stack, 0).ok());  // Its entry never came.
  std::atomic<bool> stop = false;
  const GarbageReport report = *stack->CollectGarbage({.to_bytes = 200000, .unnamed_age_ns = -1},
                                                      {.progress = {}, .stop = stop});
  EXPECT_EQ(report.unnamed_blobs, 1u);
  EXPECT_EQ(report.unnamed_bytes, 60000u);
  EXPECT_EQ(report.evicted_blobs, 19u);
  EXPECT_EQ(report.entries, 7u);
  EXPECT_LE(report.stored_bytes, 200000u);
  EXPECT_GT(report.file_bytes, 0u);
  EXPECT_TRUE(stack->actions().Lookup("default", SampleArtifact(9).key()).ok());
  EXPECT_EQ(stack->actions().Lookup("default", SampleArtifact(6).key()).error().code,
            ErrorCode::kNotFound);
  // The low watermark is far away.
  EXPECT_EQ(stack->CollectGarbage({}, {.progress = {}, .stop = stop})->evicted_blobs, 0u);
}

TEST(CacheStack, Purge_RemovesEntriesAndTheirBlobs_ButPinnedOnes) {
  TempFolder folder;
  const auto stack = *CacheStack::Open(ConfigOf(folder), nullptr);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(SampleArtifact(i).StoreAll(*stack).ok());
  ASSERT_TRUE(stack->pins().Pin("default", SampleArtifact(1).key()).ok());
  PurgeRequest request;
  request.matches = [](std::string_view, const Digest&, const ActionEntry&, std::int64_t) {
    return true;
  };
  std::atomic<bool> stop = false;
  const PurgeReport report = *stack->Purge(request, {.progress = {}, .stop = stop});
  EXPECT_EQ(report.entries, 2u);
  EXPECT_EQ(report.pinned_entries, 1u);
  EXPECT_EQ(report.blobs, 6u);
  EXPECT_EQ(stack->Snapshot().tiers[1].usage->count, 3u);
  EXPECT_FALSE(stack->blobs().Get(SampleArtifact(0).entry().artifact).ok());
  EXPECT_TRUE(stack->actions().Lookup("default", SampleArtifact(1).key()).ok());
}

class VerifyStackTest : public testing::Test {
 protected:
  // Flips a bit of the sample's large kernel, which does not compress, in the blob file.
  void Spoil(const SampleArtifact& sample) {
    int flipped = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path() + "/db")) {
      if (entry.path().extension() != ".blob") continue;
      std::ifstream in(entry.path(), std::ios::binary);
      std::string bytes((std::istreambuf_iterator<char>(in)), {});
      const std::size_t at = bytes.find(sample.blobs()[0].substr(1000, 64));
      if (at == std::string::npos) continue;
      bytes[at] ^= 1;
      std::ofstream(entry.path(), std::ios::binary | std::ios::trunc) << bytes;
      ++flipped;
    }
    ASSERT_EQ(flipped, 1);
  }

  TempFolder folder_;
  std::atomic<bool> stop_ = false;
};

TEST_F(VerifyStackTest, Verify_Damage_IsQuarantinedWithItsEntry_OrRepairedFromMemory) {
  for (const bool has_copy : {false, true}) {
    StackConfig config = ConfigOf(folder_);
    const SampleArtifact sample(has_copy ? 1 : 0);
    {
      const auto stack = *CacheStack::Open(config, nullptr);
      ASSERT_TRUE(sample.StoreAll(*stack).ok());
      ASSERT_TRUE(SampleArtifact(7).StoreAll(*stack).ok());
    }
    auto stack = *CacheStack::Open(config, nullptr);
    if (has_copy) ASSERT_TRUE(stack->blobs().Get(sample.entry().references[0]).ok());
    Spoil(sample);
    const VerifyReport report = *stack->Verify({.progress = {}, .stop = stop_});
    EXPECT_EQ(report.blobs, has_copy ? 8u : 6u);  // Two are left of the first round.
    EXPECT_EQ(report.damaged, 1u);
    EXPECT_EQ(report.repaired, has_copy ? 1u : 0u);
    EXPECT_EQ(report.entries, has_copy ? 0u : 1u);
    EXPECT_EQ(stack->actions().Lookup("default", sample.key()).ok(), has_copy);
    EXPECT_TRUE(stack->actions().Lookup("default", SampleArtifact(7).key()).ok());
    EXPECT_EQ(stack->Verify({.progress = {}, .stop = stop_})->damaged, 0u);
  }
}

TEST(CacheStack, Open_FolderCannotBeCreated_SaysWhichAndWhy) {
  StackConfig config;
  config.path = "/dev/null/cache";
  const auto stack = CacheStack::Open(config, nullptr);
  ASSERT_FALSE(stack.ok());
  EXPECT_EQ(stack.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(stack.error().message, testing::HasSubstr("/dev/null/cache"));
}

}  // namespace
}  // namespace stoker
