#include "runtime/cpu/prepared_store.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/cpu/device.h"
#include "runtime/cpu/queue.h"
#include "tests/unit/temp_folder.h"

namespace stoker::cpu {
namespace {

namespace fs = std::filesystem;
using std::chrono::hours;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t kBytes = 100'000;
constexpr std::int64_t kFileBytes = kBytes + 80;

Digest Key(int number) { return Sha256Of(std::to_string(number)); }

class PreparedStoreTest : public testing::Test {
 protected:
  std::unique_ptr<PreparedStore> Store(std::int64_t max_bytes = 10 * kFileBytes) const {
    return std::make_unique<PreparedStore>(
        PreparedStore::Options{Folder(), max_bytes, /*min_bytes=*/1});
  }

  DeviceMemory Memory(char fill) const {
    DeviceMemory memory = device_->Allocate(kBytes).value();
    std::memset(memory.data(), fill, kBytes);
    return memory;
  }

  // What a process does that packs: the file is there afterwards.
  void KeepIn(PreparedStore& store, int key, char fill) const {
    store.Keep(Key(key), Memory(fill));
    store.Flush(hours(1));
  }

  std::optional<DeviceMemory> FindIn(PreparedStore& store, int key,
                                     std::int64_t bytes = kBytes) const {
    Queue queue(*device_, 2);
    return store.Find(Key(key), bytes, queue);
  }

  std::string Folder() const { return temp_.path() + "/prepared"; }
  std::string FileOf(int key) const { return Folder() + "/" + Key(key).ToHex() + ".prepared"; }
  std::set<std::string> Files() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(Folder())) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }

  TempFolder temp_;
  const std::unique_ptr<Device> device_ = Device::Create().value();
};

TEST_F(PreparedStoreTest, Find_WhatAnotherStoreKept_HasItsBytes) {
  KeepIn(*Store(), 1, 'x');
  const std::optional<DeviceMemory> found = FindIn(*Store(), 1);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->size(), kBytes);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(found->data()) % 64, 0U);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(found->data()), kBytes),
            std::string(kBytes, 'x'));
}

TEST_F(PreparedStoreTest, Find_NothingKept_Nothing) {
  EXPECT_FALSE(FindIn(*Store(), 1).has_value());
  KeepIn(*Store(), 1, 'x');
  EXPECT_FALSE(FindIn(*Store(), 2).has_value());
}

TEST_F(PreparedStoreTest, BytesKept_OfAllFiles) {
  const auto store = Store();
  EXPECT_EQ(store->BytesKept(), 0);
  KeepIn(*store, 1, 'x');
  KeepIn(*store, 2, 'x');
  EXPECT_EQ(store->BytesKept(), 2 * kFileBytes);
}

TEST_F(PreparedStoreTest, Keep_FilesAreTheirUsersAlone) {
  KeepIn(*Store(), 1, 'x');
  EXPECT_EQ(fs::status(Folder()).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(FileOf(1)).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(fs::file_size(FileOf(1)), static_cast<std::uintmax_t>(kFileBytes));
}

TEST_F(PreparedStoreTest, Keep_DestructorWaitsForTheFile) {
  Store()->Keep(Key(1), Memory('x'));
  EXPECT_EQ(Files().size(), 1U);
  EXPECT_TRUE(FindIn(*Store(), 1).has_value());
}

TEST_F(PreparedStoreTest, Keep_HoldsTheMemoryUntilItIsWritten) {
  const auto store = Store();
  auto owner = std::make_shared<const std::string>(kBytes, 'x');
  const std::weak_ptr<const std::string> watched = owner;
  auto* const data = reinterpret_cast<std::byte*>(const_cast<char*>(owner->data()));
  store->Keep(Key(1), DeviceMemory(data, kBytes, std::move(owner)));
  store->Flush(hours(1));
  EXPECT_TRUE(watched.expired());
  EXPECT_TRUE(fs::exists(FileOf(1)));
}

TEST_F(PreparedStoreTest, Find_MemoryOfAFile_KeepsItsBytesWhereItLeavesTheFile) {
  const auto store = Store();
  KeepIn(*store, 1, 'x');
  const std::optional<DeviceMemory> found = FindIn(*store, 1);
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(FindIn(*store, 1).has_value());  // Nobody uses it any more.
  store->Flush(hours(1));
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(found->data()), kBytes),
            std::string(kBytes, 'x'));
}

TEST_F(PreparedStoreTest, Find_DamagedFile_IsDeletedAndNotUsed) {
  const auto flip = [this](std::int64_t at) {
    std::fstream file(FileOf(1), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at);
    file.put('?');
  };
  const auto store = Store();
  // A byte of the memory, of the magic, of the key, of the checksum.
  for (const std::int64_t at : {std::int64_t{0}, kBytes - 1, kBytes, kBytes + 20, kBytes + 79}) {
    KeepIn(*store, 1, 'x');
    flip(at);
    EXPECT_FALSE(FindIn(*store, 1).has_value()) << at;
    EXPECT_FALSE(fs::exists(FileOf(1))) << at;
  }
  KeepIn(*store, 1, 'x');
  EXPECT_TRUE(FindIn(*store, 1).has_value());
}

TEST_F(PreparedStoreTest, Find_OtherSize_IsDeletedAndNotUsed) {
  const auto store = Store();
  for (const std::int64_t bytes : {std::int64_t{0}, kBytes, kFileBytes - 1, kFileBytes + 1}) {
    KeepIn(*store, 1, 'x');
    fs::resize_file(FileOf(1), static_cast<std::uintmax_t>(bytes));
    EXPECT_FALSE(FindIn(*store, 1).has_value()) << bytes;
    EXPECT_FALSE(fs::exists(FileOf(1))) << bytes;
  }
  KeepIn(*store, 1, 'x');
  EXPECT_FALSE(FindIn(*store, 1, kBytes + 1).has_value());
}

TEST_F(PreparedStoreTest, Find_FileOfAnotherKey_IsNotUsed) {
  const auto store = Store();
  KeepIn(*store, 1, 'x');
  fs::rename(FileOf(1), FileOf(2));
  EXPECT_FALSE(FindIn(*store, 2).has_value());
}

TEST_F(PreparedStoreTest, Find_SymbolicLink_IsNotFollowed) {
  const auto store = Store();
  KeepIn(*store, 1, 'x');
  fs::rename(FileOf(1), temp_.path() + "/elsewhere");
  fs::create_symlink(temp_.path() + "/elsewhere", FileOf(1));
  EXPECT_FALSE(FindIn(*store, 1).has_value());
}

TEST_F(PreparedStoreTest, Keep_MoreThanTheLimit_LeastRecentlyUsedGoesFirst) {
  const auto store = Store(3 * kFileBytes);
  const auto age = [this](int key, int minutes) {
    fs::last_write_time(FileOf(key),
                        fs::file_time_type::clock::now() - std::chrono::minutes(minutes));
  };
  for (const int key : {1, 2, 3}) KeepIn(*store, key, 'x');
  age(1, 30);
  age(2, 20);
  age(3, 10);
  ASSERT_TRUE(FindIn(*store, 1).has_value());  // Used now.
  KeepIn(*store, 4, 'x');
  EXPECT_TRUE(fs::exists(FileOf(1)));
  EXPECT_FALSE(fs::exists(FileOf(2)));
  EXPECT_TRUE(fs::exists(FileOf(3)));
  EXPECT_TRUE(fs::exists(FileOf(4)));
}

TEST_F(PreparedStoreTest, Evict_MappedFile_StaysReadable) {
  const auto store = Store(kFileBytes);
  KeepIn(*store, 1, 'x');
  const std::optional<DeviceMemory> found = FindIn(*store, 1);
  ASSERT_TRUE(found.has_value());
  fs::last_write_time(FileOf(1), fs::file_time_type::clock::now() - hours(1));
  KeepIn(*store, 2, 'y');
  EXPECT_FALSE(fs::exists(FileOf(1)));
  EXPECT_EQ(static_cast<char>(found->data()[kBytes - 1]), 'x');
}

TEST_F(PreparedStoreTest, Evict_FilesThatNobodyFinished_GoAfterAnHour) {
  const auto store = Store();
  KeepIn(*store, 1, 'x');
  const std::string old_file = Folder() + "/aaaaaa.unfinished";
  const std::string new_file = Folder() + "/bbbbbb.unfinished";
  std::ofstream(old_file) << "part";
  std::ofstream(new_file) << "part";
  fs::last_write_time(old_file, fs::file_time_type::clock::now() - hours(2));
  KeepIn(*store, 2, 'x');
  EXPECT_FALSE(fs::exists(old_file));
  EXPECT_TRUE(fs::exists(new_file));
}

TEST_F(PreparedStoreTest, Outcomes_AreToldInTheBackground) {
  std::vector<PreparedOutcome> outcomes;
  std::thread::id teller;
  PreparedStore store({Folder(), 10 * kFileBytes, 1}, [&](PreparedOutcome outcome) {
    outcomes.push_back(outcome);
    teller = std::this_thread::get_id();
  });
  EXPECT_FALSE(FindIn(store, 1).has_value());
  store.Flush(hours(1));
  EXPECT_THAT(outcomes, IsEmpty());  // It may still fail to be made.
  KeepIn(store, 1, 'x');
  EXPECT_THAT(outcomes, ElementsAre(PreparedOutcome::kMade));
  EXPECT_NE(teller, std::this_thread::get_id());
  EXPECT_TRUE(FindIn(store, 1).has_value());
  store.Flush(hours(1));
  EXPECT_THAT(outcomes, ElementsAre(PreparedOutcome::kMade, PreparedOutcome::kFound));
  std::ofstream(FileOf(1)) << "damage";
  EXPECT_FALSE(FindIn(store, 1).has_value());
  KeepIn(store, 1, 'x');
  EXPECT_THAT(outcomes,
              ElementsAre(PreparedOutcome::kMade, PreparedOutcome::kFound, PreparedOutcome::kMade));
}

TEST_F(PreparedStoreTest, Takes_SizesBetweenTheLimitsOnALocalDisk) {
  const PreparedStore store({Folder(), 1000, 10});
  EXPECT_FALSE(store.Takes(9));
  EXPECT_TRUE(store.Takes(10));
  EXPECT_TRUE(store.Takes(1000));
  EXPECT_FALSE(store.Takes(1001));
  EXPECT_FALSE(PreparedStore({Folder(), 0, 0}).Takes(0));
  EXPECT_FALSE(PreparedStore({"/proc/prepared", 1000, 1}).Takes(10));
}

TEST_F(PreparedStoreTest, Keep_FolderCannotBeMade_NothingHappens) {
  std::ofstream(Folder()) << "a file is in the way";
  const auto store = Store();
  KeepIn(*store, 1, 'x');
  EXPECT_FALSE(FindIn(*store, 1).has_value());
}

TEST_F(PreparedStoreTest, Fork_ChildFindsAndKeepsNothing) {
  const auto store = Store();
  KeepIn(*store, 1, 'x');
  const pid_t child = fork();
  if (child == 0) {
    Queue alone(*device_, 1);
    const bool found = store->Find(Key(1), kBytes, alone).has_value();
    store->Keep(Key(2), Memory('y'));
    store->Flush(hours(1));
    _exit(found || fs::exists(FileOf(2)) ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace stoker::cpu
