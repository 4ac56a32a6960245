// A full disk refuses writes; it never breaks reads, and writing goes on when there is room again.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "cache/policy/complete_action_index.h"
#include "cache/rocks/database/database.h"
#include "cache/rocks/rocks_action_index.h"
#include "cache/rocks/rocks_blob_store.h"
#include "tests/unit/cache/fault_file_system.h"
#include "tests/unit/cache/loaded_stores.h"
#include "tests/unit/temp_folder.h"

namespace stoker {
namespace {

class FullDiskTest : public testing::Test {
 protected:
  FullDiskTest() {
    DatabaseConfig config;
    config.path = folder_.path();
    config.min_free_disk_bytes = 1000;
    config.file_system = disk_;
    config.steady_nanos = [this] { return steady_ns_.load(); };
    database_ = *Database::Open(config);
    blobs_ = LoadedBlobStore(database_, Watermarks::Of(1 << 20));
    actions_ = std::make_unique<RocksActionIndex>(database_);
  }

  TempFolder folder_;
  std::atomic<std::int64_t> steady_ns_ = 0;
  std::shared_ptr<FaultFileSystem> disk_ = std::make_shared<FaultFileSystem>();
  std::shared_ptr<Database> database_;
  std::unique_ptr<RocksBlobStore> blobs_;
  std::unique_ptr<RocksActionIndex> actions_;
};

TEST_F(FullDiskTest, Put_WritesFail_IsRefusedAndReadsGoOn) {
  const Digest kept = *PutBytes(*blobs_, "kept", BlobKind::kKernel);
  disk_->SetFull(true);
  const std::string bytes(50000, 'x');
  for (int attempt = 0; attempt < 3; ++attempt) {
    const Result<Digest> refused = PutBytes(*blobs_, bytes, BlobKind::kKernel);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted) << refused.error().message;
    EXPECT_FALSE(*blobs_->Contains(Sha256Of(bytes)));
    EXPECT_EQ(blobs_->Get(kept)->bytes(), "kept");
  }
  ActionEntry entry;
  entry.artifact = kept;
  EXPECT_EQ(actions_->Publish("default", kept, entry, Durability::kSynced).error().code,
            ErrorCode::kResourceExhausted);
  EXPECT_EQ(actions_->Lookup("default", kept).error().code, ErrorCode::kNotFound);

  disk_->SetFull(false);
  // RocksDB may resume by itself, in its own time, or give up and be reopened.
  for (int attempt = 0; attempt < 1000 && !PutBytes(*blobs_, bytes, BlobKind::kKernel).ok();
       ++attempt) {
    steady_ns_ += kReopenIntervalNanos;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(blobs_->Get(Sha256Of(bytes))->bytes(), bytes);
  EXPECT_TRUE(actions_->Publish("default", kept, entry, Durability::kSynced).ok());
  EXPECT_EQ(blobs_->Get(kept)->bytes(), "kept");
}

TEST_F(FullDiskTest, Put_TooLittleFree_IsRefusedBeforeAnythingIsWritten) {
  const Digest cold = *PutBytes(*blobs_, std::string(2000, 'c'), BlobKind::kKernel);
  const Digest hot = *PutBytes(*blobs_, std::string(2000, 'h'), BlobKind::kKernel);
  disk_->SetFreeBytes(2500);
  const Result<Digest> refused = PutBytes(*blobs_, std::string(1600, 'x'), BlobKind::kKernel);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
  // The cache makes room for the next one instead of freezing.
  EXPECT_FALSE(*blobs_->Contains(cold));
  EXPECT_EQ(blobs_->Get(hot)->size(), 2000u);
  EXPECT_TRUE(PutBytes(*blobs_, std::string(1500, 'x'), BlobKind::kKernel).ok());
}

TEST_F(FullDiskTest, Put_ManyAreRefused_OneOfThemMakesRoomAtATime) {
  std::vector<Digest> stored;
  for (char i = 0; i < 9; ++i) {
    stored.push_back(*PutBytes(*blobs_, std::string(100000, i), BlobKind::kKernel));
  }
  disk_->SetFreeBytes(2500);
  disk_->SetCompactable(false);
  for (int attempt = 0; attempt < 100; ++attempt) {
    EXPECT_FALSE(PutBytes(*blobs_, std::string(1600, 'x'), BlobKind::kKernel).ok());
  }
  EXPECT_GE(blobs_->usage().count, 8u);
}

// RocksDB's own SyncWAL() ends the process on a log whose first write has failed.
TEST_F(FullDiskTest, Sync_AfterAFailedWrite_IsRefusedUntilThereIsRoom) {
  disk_->SetFull(true);
  EXPECT_FALSE(PutBytes(*blobs_, std::string(50000, 'x'), BlobKind::kKernel).ok());
  EXPECT_FALSE(blobs_->Sync().ok());
  disk_->SetFull(false);
  Status synced = blobs_->Sync();
  for (int attempt = 0; attempt < 1000 && !synced.ok(); ++attempt) {
    steady_ns_ += kReopenIntervalNanos;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    synced = blobs_->Sync();
  }
  EXPECT_TRUE(synced.ok()) << synced.error().message;
}

TEST_F(FullDiskTest, Sync_WhileWritesFail_NeverEndsTheProcess) {
  const Digest kept = *PutBytes(*blobs_, "kept", BlobKind::kKernel);
  std::atomic<bool> stop = false;
  std::thread syncing([&] {
    while (!stop) (void)blobs_->Sync();
  });
  for (int round = 0; round < 20; ++round) {
    disk_->SetFull(round % 2 == 0);
    for (int put = 0; put < 20; ++put) {
      (void)PutBytes(*blobs_, std::string(static_cast<std::size_t>(500 + 20 * round + put), 'x'),
                     BlobKind::kKernel);
    }
    steady_ns_ += kReopenIntervalNanos;
  }
  stop = true;
  syncing.join();
  const Result<Blob> got = blobs_->Get(kept);
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got->bytes(), "kept");
}

TEST_F(FullDiskTest, Lookup_WhatIsLeftOfItCannotBeRemoved_IsAMissAllTheSame) {
  CompleteActionIndex index(std::make_unique<RocksActionIndex>(database_), *blobs_);
  const Digest key = Sha256Of("key");
  ActionEntry entry;
  entry.artifact = *PutBytes(*blobs_, "artifact", BlobKind::kArtifact);
  ASSERT_TRUE(index.Publish("default", key, entry, Durability::kSynced).ok());
  ASSERT_TRUE(blobs_->Delete(entry.artifact).ok());
  disk_->SetFull(true);
  for (int attempt = 0; attempt < 2; ++attempt) {
    EXPECT_EQ(index.Lookup("default", key).error().code, ErrorCode::kDataLoss);
    EXPECT_EQ(blobs_->Get(entry.artifact).error().code, ErrorCode::kNotFound);
  }
}

// Its messages would go to the disk that is full, where they end the process.
TEST_F(FullDiskTest, Database_OnAnyDisk_HasNoLogFileOfRocksDBs) {
  ASSERT_TRUE(PutBytes(*blobs_, "kept", BlobKind::kKernel).ok());
  EXPECT_TRUE(std::filesystem::exists(folder_.path() + "/db/CURRENT"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/db/LOG"));
}

TEST_F(FullDiskTest, Evict_WriteFails_KeepsTheBlobs) {
  std::vector<Digest> digests;
  for (char i = 0; i < 9; ++i) {
    digests.push_back(*PutBytes(*blobs_, std::string(104858, i), BlobKind::kKernel));
  }
  disk_->SetFull(true);
  EXPECT_FALSE(PutBytes(*blobs_, std::string(104858, 'x'), BlobKind::kKernel).ok());
  for (const Digest& digest : digests) {
    EXPECT_TRUE(*blobs_->Contains(digest));
    EXPECT_TRUE(blobs_->Get(digest).ok());
  }
  EXPECT_EQ(blobs_->usage().evicted_count, 0u);
}

TEST_F(FullDiskTest, Put_DiskFailsForAWhile_IsUnavailableUntilItWorksAgain) {
  const Digest kept = *PutBytes(*blobs_, "kept", BlobKind::kKernel);
  disk_->SetBroken(true);
  EXPECT_EQ(PutBytes(*blobs_, "new", BlobKind::kKernel).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(blobs_->Get(kept)->bytes(), "kept");
  disk_->SetBroken(false);
  EXPECT_FALSE(PutBytes(*blobs_, "new", BlobKind::kKernel).ok());  // Too early to try again.
  EXPECT_EQ(blobs_->Get(kept)->bytes(), "kept");
  steady_ns_ += kReopenIntervalNanos;
  EXPECT_TRUE(PutBytes(*blobs_, "new", BlobKind::kKernel).ok());
}

TEST_F(FullDiskTest, Delete_WriteFails_KeepsTheBlob) {
  const Digest kept = *PutBytes(*blobs_, "kept", BlobKind::kKernel);
  disk_->SetFull(true);
  EXPECT_FALSE(blobs_->Delete(kept).ok());
  EXPECT_TRUE(*blobs_->Contains(kept));
  EXPECT_TRUE(blobs_->Get(kept).ok());
}

}  // namespace
}  // namespace stoker
