// A power failure drops what was not synced: what Publish(kSynced) or Sync() acknowledged stays.
#include <gtest/gtest.h>

#include "cache/rocks/database/database.h"
#include "cache/rocks/rocks_action_index.h"
#include "cache/rocks/rocks_blob_store.h"
#include "cache/rocks/rocks_counter_store.h"
#include "tests/unit/cache/fault_file_system.h"
#include "tests/unit/cache/loaded_stores.h"
#include "tests/unit/temp_folder.h"

namespace stoker {
namespace {

class PowerFailureTest : public testing::Test {
 protected:
  PowerFailureTest() { Open(); }

  void Open() {
    DatabaseConfig config;
    config.path = folder_.path();
    config.file_system = disk_;
    database_ = *Database::Open(config);
    ASSERT_FALSE(database_->was_moved_aside());
    blobs_ = LoadedBlobStore(database_, Watermarks::Of(std::uint64_t{1} << 30));
    actions_ = std::make_unique<RocksActionIndex>(database_);
    counters_ = *RocksCounterStore::Open(database_);
  }
  void FailPowerAndReopen() {
    disk_->CutPower();
    blobs_.reset();
    actions_.reset();
    counters_.reset();
    database_.reset();
    disk_->DropUnsynced();
    Open();
  }
  Status Publish(const std::string& name, const Digest& artifact, Durability durability) {
    ActionEntry entry;
    entry.artifact = artifact;
    return actions_->Publish("default", Sha256Of(name), entry, durability);
  }
  bool Published(const std::string& name) {
    return actions_->Lookup("default", Sha256Of(name)).ok();
  }

  TempFolder folder_;
  std::shared_ptr<FaultFileSystem> disk_ = std::make_shared<FaultFileSystem>();
  std::shared_ptr<Database> database_;
  std::unique_ptr<RocksBlobStore> blobs_;
  std::unique_ptr<RocksActionIndex> actions_;
  std::unique_ptr<RocksCounterStore> counters_;
};

TEST_F(PowerFailureTest, Put_Unsynced_IsLostWhole) {
  const Digest digest = *PutBytes(*blobs_, std::string(50000, 'b'), BlobKind::kKernel);
  FailPowerAndReopen();
  EXPECT_FALSE(*blobs_->Contains(digest));
  EXPECT_EQ(blobs_->Get(digest).error().code, ErrorCode::kNotFound);
}

TEST_F(PowerFailureTest, Sync_KeepsEveryPutBefore) {
  const Digest digest = *PutBytes(*blobs_, std::string(50000, 'b'), BlobKind::kKernel);
  ASSERT_TRUE(blobs_->Sync().ok());
  const Digest later = *PutBytes(*blobs_, "later", BlobKind::kKernel);
  FailPowerAndReopen();
  EXPECT_EQ(blobs_->Get(digest)->size(), 50000u);
  EXPECT_FALSE(*blobs_->Contains(later));
}

TEST_F(PowerFailureTest, Publish_Synced_KeepsTheEntryAndEverythingBefore) {
  const Digest kernel = *PutBytes(*blobs_, std::string(50000, 'k'), BlobKind::kKernel);
  ASSERT_TRUE(Publish("kernel", kernel, Durability::kBuffered).ok());
  ASSERT_TRUE(counters_->Add({{"compiles", 1}}).ok());
  const Digest artifact = *PutBytes(*blobs_, "manifest", BlobKind::kArtifact);
  ASSERT_TRUE(Publish("artifact", artifact, Durability::kSynced).ok());
  ASSERT_TRUE(Publish("late", kernel, Durability::kBuffered).ok());
  FailPowerAndReopen();
  EXPECT_EQ(blobs_->Get(kernel)->size(), 50000u);
  EXPECT_EQ(blobs_->Get(artifact)->bytes(), "manifest");
  EXPECT_TRUE(Published("kernel"));
  EXPECT_TRUE(Published("artifact"));
  EXPECT_FALSE(Published("late"));
  EXPECT_EQ(counters_->Load()->at("compiles"), 1);
}

// More than the write buffers hold, so that logs are switched and blob files written meanwhile.
TEST_F(PowerFailureTest, Publish_SyncedAcrossManyLogs_KeepsEverythingBefore) {
  constexpr int kBlobs = 60;
  std::vector<Digest> digests;
  for (int i = 0; i < kBlobs; ++i) {
    std::string bytes(std::size_t{2} << 20, static_cast<char>(i));
    bytes += std::to_string(i);
    digests.push_back(*PutBytes(*blobs_, std::move(bytes), BlobKind::kConstant));
    if (i % 20 == 7) {
      ASSERT_TRUE(Publish("at " + std::to_string(i), digests.back(), Durability::kSynced).ok());
    }
  }
  FailPowerAndReopen();
  for (int i = 0; i <= 47; ++i) {
    EXPECT_TRUE(blobs_->Get(digests[static_cast<std::size_t>(i)]).ok()) << i;
  }
  for (int i = 48; i < kBlobs; ++i) {
    const Digest& digest = digests[static_cast<std::size_t>(i)];
    EXPECT_EQ(blobs_->Get(digest).ok(), *blobs_->Contains(digest)) << i;
  }
  EXPECT_TRUE(Published("at 7"));
  EXPECT_TRUE(Published("at 47"));
}

}  // namespace
}  // namespace stoker
