#include "cache/policy/complete_action_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cache/memory/memory_action_index.h"
#include "tests/unit/cache/fake_blob_store.h"

namespace stoker {
namespace {

class CompleteActionIndexTest : public testing::Test {
 protected:
  CompleteActionIndexTest() {
    auto inner = std::make_unique<MemoryActionIndex>();
    inner_ = inner.get();
    index_ = std::make_unique<CompleteActionIndex>(std::move(inner), blobs_);
    entry_.artifact = *PutBytes(blobs_, "artifact", BlobKind::kArtifact);
    entry_.references = {*PutBytes(blobs_, "kernel a", BlobKind::kKernel),
                         *PutBytes(blobs_, "kernel b", BlobKind::kKernel)};
  }

  Status Publish() { return index_->Publish("default", key_, entry_, Durability::kSynced); }
  std::size_t Visible() {
    std::size_t count = 0;
    EXPECT_TRUE(index_
                    ->Visit("", [&](std::string_view, const Digest&,
                                    const ActionEntry&) { return ++count > 0; })
                    .ok());
    return count;
  }

  FakeBlobStore blobs_;
  MemoryActionIndex* inner_;
  std::unique_ptr<CompleteActionIndex> index_;
  ActionEntry entry_;
  const Digest key_ = Sha256Of("key");
};

TEST_F(CompleteActionIndexTest, Lookup_Complete_TouchesEveryBlob) {
  ASSERT_TRUE(Publish().ok());
  EXPECT_EQ(*index_->Lookup("default", key_), entry_);
  EXPECT_EQ(blobs_.touched, 3u);
}

TEST_F(CompleteActionIndexTest, Lookup_AnyBlobMissing_IsDataLossOnceThenNotFound) {
  for (const Digest& lost : {entry_.artifact, entry_.references[0], entry_.references[1]}) {
    ASSERT_TRUE(PutBytes(blobs_, "artifact", BlobKind::kArtifact).ok());
    ASSERT_TRUE(PutBytes(blobs_, "kernel a", BlobKind::kKernel).ok());
    ASSERT_TRUE(PutBytes(blobs_, "kernel b", BlobKind::kKernel).ok());
    ASSERT_TRUE(Publish().ok());
    ASSERT_TRUE(blobs_.Delete(lost).ok());
    EXPECT_EQ(Visible(), 0u);
    const Result<ActionEntry> found = index_->Lookup("default", key_);
    ASSERT_FALSE(found.ok());
    EXPECT_EQ(found.error().code, ErrorCode::kDataLoss);
    EXPECT_THAT(found.error().message, testing::HasSubstr(lost.ToHex()));
    EXPECT_EQ(index_->Lookup("default", key_).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(inner_->Lookup("default", key_).error().code, ErrorCode::kNotFound);
  }
  EXPECT_EQ(index_->removed_count(), 3u);
}

TEST_F(CompleteActionIndexTest, Lookup_StoreIsAway_KeepsTheEntry) {
  ASSERT_TRUE(Publish().ok());
  blobs_.failure = Unavailable("away");
  EXPECT_EQ(index_->Lookup("default", key_).error().code, ErrorCode::kUnavailable);
  blobs_.failure.reset();
  EXPECT_TRUE(index_->Lookup("default", key_).ok());
}

TEST_F(CompleteActionIndexTest, Publish_BlobMissing_IsRefusedAndNamesIt) {
  entry_.references.push_back(Sha256Of("never stored"));
  const Status published = Publish();
  ASSERT_FALSE(published.ok());
  EXPECT_EQ(published.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(published.error().message, testing::HasSubstr(Sha256Of("never stored").ToHex()));
  EXPECT_EQ(inner_->Lookup("default", key_).error().code, ErrorCode::kNotFound);
}

TEST_F(CompleteActionIndexTest, Prune_RemovesIncompleteEntriesOnly) {
  ASSERT_TRUE(Publish().ok());
  ActionEntry whole = entry_;
  whole.references.pop_back();
  ASSERT_TRUE(index_->Publish("default", Sha256Of("whole"), whole, Durability::kSynced).ok());
  ASSERT_TRUE(blobs_.Delete(entry_.references.back()).ok());
  ASSERT_TRUE(index_->Prune().ok());
  EXPECT_EQ(inner_->Lookup("default", key_).error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(inner_->Lookup("default", Sha256Of("whole")).ok());
  EXPECT_EQ(index_->removed_count(), 1u);
}

}  // namespace
}  // namespace stoker
