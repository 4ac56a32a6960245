#include "cache/rocks/rocks_blob_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "cache/rocks/database/database.h"
#include "cache/rocks/rocks_records.h"
#include "tests/unit/cache/loaded_stores.h"
#include "tests/unit/temp_folder.h"

namespace stoker {
namespace {

using testing::ElementsAre;

class RocksBlobStoreTest : public testing::Test {
 protected:
  void OpenUnread() {
    store_.reset();
    database_.reset();
    DatabaseConfig config;
    config.path = folder_.path();
    database_ = *Database::Open(config);
    store_ = std::make_unique<RocksBlobStore>(database_, Watermarks::Of(1 << 20),
                                              [this] { return ++now_ns_; });
  }
  void Open() {
    OpenUnread();
    Load();
  }
  void Load() {
    const Status loaded = store_->Load(stop_);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  }
  std::vector<Digest> ColdestFirst() {
    std::vector<Digest> digests;
    EXPECT_TRUE(store_
                    ->Visit([&](const BlobEntry& entry) {
                      digests.push_back(entry.digest);
                      return true;
                    })
                    .ok());
    return digests;
  }
  std::size_t QuarantineSize() {
    std::size_t count = 0;
    EXPECT_TRUE(database_
                    ->Scan(Family::kQuarantine, "",
                           [&](std::string_view, std::string_view) { return ++count > 0; })
                    .ok());
    return count;
  }

  TempFolder folder_;
  std::int64_t now_ns_ = 0;
  std::atomic<bool> stop_ = false;
  std::shared_ptr<Database> database_;
  std::unique_ptr<RocksBlobStore> store_;
};

TEST_F(RocksBlobStoreTest, Reopen_KeepsBlobsKindsAndOrderOfUse) {
  Open();
  const Digest a = *PutBytes(*store_, "a", BlobKind::kGraph);
  const Digest b = *PutBytes(*store_, "b", BlobKind::kKernel);
  const Digest c = *PutBytes(*store_, "c", BlobKind::kConstant);
  ASSERT_TRUE(store_->Get(a).ok());
  EXPECT_THAT(ColdestFirst(), ElementsAre(b, c, a));
  const LedgerUsage before = store_->usage();
  Open();
  EXPECT_THAT(ColdestFirst(), ElementsAre(b, c, a));
  EXPECT_EQ(store_->Get(c)->kind(), BlobKind::kConstant);
  EXPECT_EQ(store_->usage().bytes, before.bytes);
  EXPECT_EQ(store_->usage().count, 3u);
}

TEST_F(RocksBlobStoreTest, Reopen_SmallerLimit_EvictsAtTheNextPut) {
  Open();
  std::vector<Digest> digests;
  for (char i = 0; i < 5; ++i) {
    digests.push_back(*PutBytes(*store_, std::string(10000, i), BlobKind::kKernel));
  }
  store_ = LoadedBlobStore(database_, Watermarks::Of(30000));
  ASSERT_TRUE(PutBytes(*store_, "small", BlobKind::kKernel).ok());
  EXPECT_FALSE(*store_->Contains(digests[2]));
  EXPECT_TRUE(*store_->Contains(digests[3]));
  EXPECT_LE(store_->usage().bytes, 30000u);
}

TEST_F(RocksBlobStoreTest, Uses_ManyWithoutAWrite_ReachTheDisk) {
  Open();
  std::vector<Digest> others;
  for (std::size_t i = 0; i < kMaxPendingUses + 1; ++i) {
    others.push_back(*PutBytes(*store_, "blob " + std::to_string(i), BlobKind::kKernel));
  }
  const std::int64_t last_put_ns = now_ns_;
  for (const Digest& digest : others) ASSERT_TRUE(store_->Get(digest).ok());
  std::string value;
  ASSERT_TRUE(database_->Get(Family::kAccess, others[0].AsBytes(), &value).ok());
  EXPECT_GT(DecodeAccess(others[0].AsBytes(), value)->accessed_unix_ns, last_put_ns);
}

TEST_F(RocksBlobStoreTest, Quarantine_KeepsTheRecordAndTheFirstBytes) {
  Open();
  const std::string bytes(kMaxQuarantinedBytes + 5, 'q');
  const Digest digest = *PutBytes(*store_, bytes, BlobKind::kArtifact);
  ASSERT_TRUE(store_->Quarantine(digest, "its signature is foreign").ok());
  std::string value;
  ASSERT_TRUE(database_->Get(Family::kQuarantine, digest.AsBytes(), &value).ok());
  const Result<QuarantineRecord> record = DecodeQuarantine(value);
  ASSERT_TRUE(record.ok());
  EXPECT_EQ(record->kind, BlobKind::kArtifact);
  EXPECT_EQ(record->bytes, bytes.size());
  EXPECT_EQ(record->reason, "its signature is foreign");
  EXPECT_EQ(record->content, bytes.substr(0, kMaxQuarantinedBytes));
  EXPECT_EQ(store_->quarantined_count(), 1u);
  Open();
  EXPECT_FALSE(*store_->Contains(digest));
}

TEST_F(RocksBlobStoreTest, Quarantine_IsBounded) {
  Open();
  Digest last;
  for (std::size_t i = 0; i < kMaxQuarantinedBlobs + 3; ++i) {
    last = *PutBytes(*store_, "blob " + std::to_string(i), BlobKind::kKernel);
    ASSERT_TRUE(store_->Quarantine(last, "a test").ok());
  }
  EXPECT_EQ(QuarantineSize(), kMaxQuarantinedBlobs);
  std::string value;
  EXPECT_TRUE(database_->Get(Family::kQuarantine, last.AsBytes(), &value).ok());
}

TEST_F(RocksBlobStoreTest, Get_AccessRecordWithoutBlob_IsAMissAndForgotten) {
  Open();
  const BlobEntry ghost{
      .digest = Sha256Of("ghost"), .kind = BlobKind::kKernel, .bytes = 5, .accessed_unix_ns = 1};
  WriteOps ops;
  ops.Put(Family::kAccess, ghost.digest.AsBytes(), EncodeAccess(ghost));
  ASSERT_TRUE(database_->Write(ops, /*sync=*/true).ok());
  Open();
  EXPECT_EQ(store_->Get(ghost.digest).error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(*store_->Contains(ghost.digest));
  ASSERT_TRUE(PutBytes(*store_, "ghost", BlobKind::kKernel).ok());
  EXPECT_EQ(store_->Get(ghost.digest)->bytes(), "ghost");
}

TEST_F(RocksBlobStoreTest, Unread_ServesWhatIsStored_AndLoadKnowsWhatHappened) {
  Open();
  const Digest a = *PutBytes(*store_, "a", BlobKind::kGraph);
  const Digest b = *PutBytes(*store_, "b", BlobKind::kKernel);
  const Digest c = *PutBytes(*store_, "c", BlobKind::kConstant);
  const Digest d = *PutBytes(*store_, "d", BlobKind::kCapture);
  OpenUnread();
  EXPECT_TRUE(store_->loading());
  EXPECT_EQ(store_->Get(a)->bytes(), "a");
  EXPECT_EQ(store_->Get(a)->kind(), BlobKind::kGraph);
  EXPECT_TRUE(*store_->Contains(b));
  EXPECT_FALSE(*store_->Contains(Sha256Of("nothing")));
  EXPECT_THAT(ColdestFirst(), testing::UnorderedElementsAre(a, b, c, d));
  ASSERT_TRUE(store_->Delete(b).ok());
  EXPECT_EQ(store_->Delete(b).error().code, ErrorCode::kNotFound);
  ASSERT_TRUE(store_->Quarantine(c, "a test").ok());
  EXPECT_FALSE(*store_->Contains(b) || *store_->Contains(c));
  // What is there already keeps its kind.
  ASSERT_TRUE(PutBytes(*store_, "d", BlobKind::kOther).ok());
  EXPECT_EQ(store_->Get(d)->kind(), BlobKind::kCapture);
  const Digest e = *PutBytes(*store_, "e", BlobKind::kKernel);
  Load();
  EXPECT_FALSE(store_->loading());
  EXPECT_THAT(ColdestFirst(), ElementsAre(a, d, e));
  EXPECT_EQ(store_->usage().count, 3u);
  Open();  // The uses have reached the disk.
  EXPECT_THAT(ColdestFirst(), ElementsAre(a, d, e));
}

TEST_F(RocksBlobStoreTest, Unread_TakesNoMoreThanIsSurelyFree) {
  Open();
  ASSERT_TRUE(PutBytes(*store_, std::string(300000, 'a'), BlobKind::kKernel).ok());
  OpenUnread();
  ASSERT_TRUE(PutBytes(*store_, std::string(50000, 'b'), BlobKind::kKernel).ok());
  const auto refused = PutBytes(*store_, std::string(3000, 'c'), BlobKind::kKernel);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  Load();
  EXPECT_TRUE(PutBytes(*store_, std::string(3000, 'c'), BlobKind::kKernel).ok());
}

TEST_F(RocksBlobStoreTest, Load_Stopped_SaysSo) {
  Open();
  ASSERT_TRUE(PutBytes(*store_, "a", BlobKind::kGraph).ok());
  OpenUnread();
  const std::atomic<bool> stop = true;
  EXPECT_EQ(store_->Load(stop).error().code, ErrorCode::kUnavailable);
}

TEST_F(RocksBlobStoreTest, Load_RecordThatDoesNotDecode_DropsItsBlob) {
  Open();
  const Digest digest = *PutBytes(*store_, "a", BlobKind::kGraph);
  WriteOps ops;
  ops.Put(Family::kAccess, digest.AsBytes(), "no record");
  ASSERT_TRUE(database_->Write(ops, /*sync=*/true).ok());
  Open();
  EXPECT_EQ(store_->Get(digest).error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(PutBytes(*store_, "a", BlobKind::kGraph).ok());
  EXPECT_EQ(store_->Get(digest)->bytes(), "a");
}

TEST_F(RocksBlobStoreTest, SetAside_StartsEmpty_AndKeepsPins) {
  Open();
  const Digest pinned = *PutBytes(*store_, "pinned", BlobKind::kKernel);
  store_->Pin(pinned);
  OpenUnread();
  store_->Pin(pinned);
  ASSERT_TRUE(store_->SetAside("a test").ok());
  EXPECT_TRUE(database_->was_moved_aside());
  EXPECT_FALSE(store_->loading());
  EXPECT_EQ(store_->Get(pinned).error().code, ErrorCode::kNotFound);
  ASSERT_TRUE(PutBytes(*store_, "pinned", BlobKind::kKernel).ok());
  EXPECT_EQ(store_->Delete(pinned).error().code, ErrorCode::kFailedPrecondition);
  Open();
  EXPECT_EQ(store_->Get(pinned)->bytes(), "pinned");
}

TEST_F(RocksBlobStoreTest, EvictTo_TakesTheColdest_AndLeavesPinnedOnes) {
  Open();
  std::vector<Digest> digests;
  for (char i = 0; i < 5; ++i) {
    digests.push_back(*PutBytes(*store_, std::string(10000, i), BlobKind::kKernel));
  }
  store_->Pin(digests[0]);
  const auto gone = store_->EvictTo(3 * (10000 + kEntryOverheadBytes), stop_);
  ASSERT_TRUE(gone.ok());
  EXPECT_THAT(*gone, ElementsAre(digests[1], digests[2]));
  EXPECT_EQ(store_->EvictTo(0, stop_)->size(), 2u);
  EXPECT_TRUE(*store_->Contains(digests[0]));
  EXPECT_EQ(store_->usage().evicted_by[static_cast<std::size_t>(EvictionReason::kRequest)], 4u);
}

TEST_F(RocksBlobStoreTest, ClockThatJumps_OrderOfUseStays) {
  Open();
  now_ns_ = std::int64_t{1} << 60;
  const Digest a = *PutBytes(*store_, "a", BlobKind::kKernel);
  now_ns_ = -1000;  // Before 1970.
  const Digest b = *PutBytes(*store_, "b", BlobKind::kKernel);
  ASSERT_TRUE(store_->Get(a).ok());
  EXPECT_THAT(ColdestFirst(), ElementsAre(b, a));
  now_ns_ = 0;
  Open();
  const Digest c = *PutBytes(*store_, "c", BlobKind::kKernel);
  now_ns_ = std::int64_t{1} << 61;
  ASSERT_TRUE(store_->Get(b).ok());
  EXPECT_THAT(ColdestFirst(), ElementsAre(a, c, b));
  Open();
  EXPECT_THAT(ColdestFirst(), ElementsAre(a, c, b));
}

}  // namespace
}  // namespace stoker
