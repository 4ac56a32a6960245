#include "cache/rocks/database/database.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "tests/unit/temp_folder.h"
#include "tests/unit/wait_until.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class DatabaseTest : public testing::Test {
 protected:
  Result<std::shared_ptr<Database>> Open() {
    DatabaseConfig config;
    config.path = folder_.path();
    config.reclaim_bytes = std::uint64_t{4} << 20;
    config.log = [this](std::string_view message) { log_ += message; };
    return Database::Open(config);
  }
  static Status Put(Database& database, const std::string& key, const std::string& value) {
    WriteOps ops;
    ops.Put(Family::kBlobs, key, value);
    return database.Write(ops, /*sync=*/false);
  }
  static std::string Get(Database& database, const std::string& key) {
    std::string value;
    return database.Get(Family::kBlobs, key, &value).ok() ? value : "(none)";
  }

  TempFolder folder_;
  std::string log_;
};

TEST_F(DatabaseTest, Scan_VisitsThePrefixInOrderUntilToldToStop) {
  const auto database = *Open();
  for (const char* key : {"b2", "a", "b1", "c", "b3"}) ASSERT_TRUE(Put(*database, key, "v").ok());
  std::vector<std::string> keys;
  ASSERT_TRUE(database
                  ->Scan(Family::kBlobs, "b",
                         [&](std::string_view key, std::string_view) {
                           keys.emplace_back(key);
                           return keys.size() < 2;
                         })
                  .ok());
  EXPECT_THAT(keys, ElementsAre("b1", "b2"));
}

TEST_F(DatabaseTest, Open_AnotherFormat_IsRefusedAndNamesBoth) {
  {
    const auto database = *Open();
    ASSERT_TRUE(Put(*database, "key", "value").ok());
  }
  rocksdb::DB* db = nullptr;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  std::vector<std::string> names;
  const std::string path = folder_.path() + "/db";
  ASSERT_TRUE(rocksdb::DB::ListColumnFamilies(rocksdb::DBOptions(), path, &names).ok());
  for (const std::string& name : names) families.emplace_back(name, rocksdb::ColumnFamilyOptions());
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  ASSERT_TRUE(rocksdb::DB::Open(rocksdb::DBOptions(), path, families, &handles, &db).ok());
  ASSERT_TRUE(db->Put(rocksdb::WriteOptions(), "format", "stoker-cache 2").ok());
  for (rocksdb::ColumnFamilyHandle* handle : handles) {
    ASSERT_TRUE(db->DestroyColumnFamilyHandle(handle).ok());
  }
  delete db;

  const auto refused = Open();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(refused.error().message, HasSubstr("'stoker-cache 2'"));
  EXPECT_THAT(refused.error().message, HasSubstr("'stoker-cache 1'"));
  EXPECT_THAT(refused.error().message, HasSubstr(folder_.path()));
}

TEST_F(DatabaseTest, Open_MarkedAsDamaged_StartsEmptyAndKeepsTheOldOne) {
  {
    const auto database = *Open();
    ASSERT_TRUE(Put(*database, "key", "value").ok());
  }
  std::ofstream(folder_.path() + "/DAMAGED") << "a test\n";
  {
    const auto database = *Open();
    EXPECT_TRUE(database->was_moved_aside());
    EXPECT_EQ(Get(*database, "key"), "(none)");
    EXPECT_TRUE(fs::exists(folder_.path() + "/damaged/CURRENT"));
    EXPECT_THAT(log_, HasSubstr("/damaged"));
    ASSERT_TRUE(Put(*database, "key", "new").ok());
  }
  const auto database = *Open();
  EXPECT_FALSE(database->was_moved_aside());
  EXPECT_EQ(Get(*database, "key"), "new");
}

TEST_F(DatabaseTest, Folder_IsPrivateToItsOwner) {
  DatabaseConfig config;
  config.path = folder_.path() + "/new";
  const auto database = *Database::Open(config);
  EXPECT_EQ(fs::status(config.path).permissions(), fs::perms::owner_all);
}

// Ten times 16 MiB pass through: deleted blobs must give their space back.
TEST_F(DatabaseTest, Churn_ReclaimsTheSpaceOfDeletedBlobs) {
  constexpr std::size_t kBlobBytes = std::size_t{1} << 20;
  constexpr std::size_t kKept = 16;
  std::minstd_rand random(1);
  {
    const auto database = *Open();
    for (std::size_t i = 0; i < 10 * kKept; ++i) {
      std::string value(kBlobBytes, '\0');
      for (char& byte : value) byte = static_cast<char>(random() >> 8);
      ASSERT_TRUE(Put(*database, std::to_string(i), value).ok());
      if (i < kKept) continue;
      WriteOps ops;
      ops.Delete(Family::kBlobs, std::to_string(i - kKept));
      ASSERT_TRUE(database->Write(ops, /*sync=*/false).ok());
      database->AddGarbage(kBlobBytes);
    }
    // The compactions go on in a thread of their own.
    WaitUntil("the space is given back", [&] {
      database->AddGarbage(kBlobBytes);
      return database->DiskBytes() < 5 * kKept * kBlobBytes;
    });
  }
  const auto database = *Open();
  EXPECT_EQ(Get(*database, std::to_string(10 * kKept - 1)).size(), kBlobBytes);
}

}  // namespace
}  // namespace stoker
