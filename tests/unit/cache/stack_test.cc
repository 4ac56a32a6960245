#include "cache/stack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cache/memory_blob_store.h"
#include "tests/unit/cache/fake_blob_store.h"
#include "tests/unit/cache/sample_artifact.h"
#include "tests/unit/temp_folder.h"

namespace stoker {
namespace {

StackConfig ConfigOf(const TempFolder& folder) {
  StackConfig config;
  config.path = folder.path();
  config.min_free_disk_bytes = 0;
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
  EXPECT_EQ(snapshot.tiers[1].usage->kinds[static_cast<std::size_t>(BlobKind::kKernel)].count, 2u);
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
