#include "cache/policy/pinned_action_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cache/memory/memory_action_index.h"
#include "cache/memory/memory_blob_store.h"
#include "cache/policy/complete_action_index.h"
#include "cache/rocks/database/database.h"
#include "cache/rocks/rocks_action_index.h"
#include "tests/unit/cache/loaded_stores.h"
#include "tests/unit/temp_folder.h"

namespace stoker {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class PinnedActionIndexTest : public testing::Test {
 protected:
  void Open() {
    index_.reset();
    blobs_.reset();
    database_.reset();
    DatabaseConfig config;
    config.path = folder_.path();
    database_ = *Database::Open(config);
    blobs_ = LoadedBlobStore(database_, Watermarks::Of(100000));
    auto quotas = LoadedQuotaIndex(std::make_unique<RocksActionIndex>(database_), {});
    QuotaActionIndex& counted = *quotas;
    index_ = std::make_unique<PinnedActionIndex>(
        std::make_unique<CompleteActionIndex>(std::move(quotas), *blobs_), counted, *blobs_,
        database_, /*limit_bytes=*/50000, [this] { return ++now_ns_; });
    ASSERT_TRUE(index_->Load().ok());
  }

  // An entry with a blob of 10000 bytes.
  Digest Publish(const std::string& name, const std::string& content = "") {
    const Digest key = Sha256Of(name);
    ActionEntry entry;
    entry.artifact =
        *PutBytes(*blobs_, content + name + std::string(10000, 'x'), BlobKind::kArtifact);
    entry.bytes = 10000;
    entry.label = name;
    EXPECT_TRUE(index_->Publish("team", key, entry, Durability::kSynced).ok());
    return key;
  }
  // Enough to evict what may be evicted.
  void Churn() {
    for (int i = 0; i < 12; ++i) Publish("churn " + std::to_string(++churned_));
  }
  bool IsThere(const Digest& key) { return index_->Lookup("team", key).ok(); }

  TempFolder folder_;
  std::int64_t now_ns_ = 0;
  int churned_ = 0;
  std::shared_ptr<Database> database_;
  std::unique_ptr<RocksBlobStore> blobs_;
  std::unique_ptr<PinnedActionIndex> index_;
};

TEST_F(PinnedActionIndexTest, Pin_OutlivesEvictionAndRestart_UntilItIsUnpinned) {
  Open();
  const Digest kept = Publish("kept");
  const Digest left = Publish("left");
  ASSERT_TRUE(index_->Pin("team", kept).ok());
  ASSERT_TRUE(index_->Pin("team", kept).ok());
  Churn();
  EXPECT_TRUE(IsThere(kept));
  EXPECT_FALSE(IsThere(left));
  Open();
  Churn();
  EXPECT_TRUE(IsThere(kept));
  ASSERT_THAT(index_->Pins(), SizeIs(1));
  EXPECT_EQ(index_->Pins()[0].name_space, "team");
  EXPECT_EQ(index_->Pins()[0].key, kept);
  EXPECT_EQ(index_->Pins()[0].label, "kept");
  EXPECT_EQ(index_->Pins()[0].bytes, 10000u);
  EXPECT_EQ(index_->Pins()[0].pinned_unix_ns, 1);
  ASSERT_TRUE(index_->Unpin("team", kept).ok());
  EXPECT_EQ(index_->Unpin("team", kept).error().code, ErrorCode::kNotFound);
  Churn();
  EXPECT_FALSE(IsThere(kept));
  Open();
  EXPECT_THAT(index_->Pins(), IsEmpty());
}

TEST_F(PinnedActionIndexTest, Pin_WhatIsNotThere_IsNotFound) {
  Open();
  EXPECT_EQ(index_->Pin("team", Sha256Of("nothing")).error().code, ErrorCode::kNotFound);
  const Digest key = Publish("elsewhere");
  EXPECT_EQ(index_->Pin("other", key).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(index_->Pin("UPPER", key).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(index_->usage().count, 0u);
}

TEST_F(PinnedActionIndexTest, Pin_BeyondTheLimit_IsRefusedWithTheNumbers) {
  Open();
  std::vector<Digest> keys;
  for (int i = 0; i < 6; ++i) keys.push_back(Publish("entry " + std::to_string(i)));
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(index_->Pin("team", keys[static_cast<std::size_t>(i)]).ok());
  }
  const Status refused = index_->Pin("team", keys[5]);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(refused.error().message, HasSubstr("10000 bytes; 50000 bytes of at most 50000"));
  EXPECT_EQ(index_->usage().bytes, 50000u);
  ASSERT_TRUE(index_->Unpin("team", keys[0]).ok());
  EXPECT_TRUE(index_->Pin("team", keys[5]).ok());
}

TEST_F(PinnedActionIndexTest, Publish_UnderAPinnedKey_PinsWhatItNames) {
  Open();
  const Digest key = Publish("model");
  ASSERT_TRUE(index_->Pin("team", key).ok());
  const Digest old = index_->Lookup("team", key)->artifact;
  Publish("model", "better ");
  Churn();
  EXPECT_TRUE(IsThere(key));
  EXPECT_FALSE(*blobs_->Contains(old));
  EXPECT_EQ(index_->usage().bytes, 10000u);
  // Whoever removes it knows why; what comes next under the key is pinned again.
  ASSERT_TRUE(index_->Remove("team", key).ok());
  EXPECT_EQ(index_->usage().bytes, 0u);
  Publish("model", "third ");
  Churn();
  EXPECT_TRUE(IsThere(key));
}

TEST_F(PinnedActionIndexTest, Rewrite_BringsPinsToAnotherDatabase) {
  Open();
  const Digest key = Publish("model");
  ASSERT_TRUE(index_->Pin("team", key).ok());
  ASSERT_TRUE(blobs_->SetAside("a test").ok());
  ASSERT_TRUE(index_->Rewrite().ok());
  EXPECT_FALSE(IsThere(key));
  Open();
  ASSERT_THAT(index_->Pins(), SizeIs(1));
  EXPECT_EQ(index_->Pins()[0].bytes, 0u);
  Publish("model");
  Churn();
  EXPECT_TRUE(IsThere(key));
}

TEST(PinnedActionIndex, NoDatabase_PinsEndWithTheProcess) {
  MemoryBlobStore blobs(Watermarks::Of(100000));
  auto quotas = LoadedQuotaIndex(std::make_unique<MemoryActionIndex>(), {});
  QuotaActionIndex& counted = *quotas;
  PinnedActionIndex index(std::move(quotas), counted, blobs, nullptr, 1000);
  ASSERT_TRUE(index.Load().ok());
  ActionEntry entry;
  entry.artifact = *PutBytes(blobs, "artifact", BlobKind::kArtifact);
  const Digest key = Sha256Of("key");
  ASSERT_TRUE(index.Publish("team", key, entry, Durability::kSynced).ok());
  ASSERT_TRUE(index.Pin("team", key).ok());
  EXPECT_EQ(blobs.Delete(entry.artifact).error().code, ErrorCode::kFailedPrecondition);
  EXPECT_TRUE(index.Rewrite().ok());
  ASSERT_TRUE(index.Unpin("team", key).ok());
  EXPECT_TRUE(blobs.Delete(entry.artifact).ok());
}

}  // namespace
}  // namespace stoker
