#include "cache/policy/quota_action_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "cache/memory/memory_action_index.h"
#include "tests/unit/cache/loaded_stores.h"

namespace stoker {
namespace {

using testing::ElementsAre;

constexpr std::uint64_t kBytes = 1000 - kEntryOverheadBytes;  // Charged as 1000.

Digest Key(int i) { return Sha256Of("key " + std::to_string(i)); }

ActionEntry Entry(std::uint64_t bytes = kBytes) {
  ActionEntry entry;
  entry.artifact = Sha256Of("artifact");
  entry.bytes = bytes;
  return entry;
}

class QuotaActionIndexTest : public testing::Test {
 protected:
  QuotaActionIndexTest() { Open(std::make_unique<MemoryActionIndex>()); }

  void Open(std::unique_ptr<MemoryActionIndex> inner) {
    index_ = LoadedQuotaIndex(std::move(inner), {.bytes = {{"small", 4000}}, .default_bytes = 0},
                              [this] { return ++now_ns_; });
  }

  Status Publish(std::string_view name_space, int key, std::uint64_t bytes = kBytes) {
    return index_->Publish(name_space, Key(key), Entry(bytes), Durability::kSynced);
  }
  std::vector<int> Present(std::string_view name_space) {
    std::vector<int> present;
    for (int i = 0; i < 10; ++i) {
      bool found = false;
      EXPECT_TRUE(index_
                      ->Visit(name_space,
                              [&](std::string_view, const Digest& key, const ActionEntry&) {
                                found = found || key == Key(i);
                                return true;
                              })
                      .ok());
      if (found) present.push_back(i);
    }
    return present;
  }

  std::int64_t now_ns_ = 0;
  std::unique_ptr<QuotaActionIndex> index_;
};

TEST_F(QuotaActionIndexTest, Publish_OverQuota_EvictsItsOwnColdest) {
  ASSERT_TRUE(Publish("other", 0).ok());
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(Publish("small", i).ok());
  ASSERT_TRUE(index_->Lookup("small", Key(0)).ok());
  ASSERT_TRUE(Publish("small", 4).ok());
  EXPECT_THAT(Present("small"), ElementsAre(0, 3, 4));  // Down to nine tenths.
  EXPECT_THAT(Present("other"), ElementsAre(0));
}

TEST_F(QuotaActionIndexTest, Publish_LargerThanTheQuota_IsRefusedAndKeepsTheRest) {
  ASSERT_TRUE(Publish("small", 0).ok());
  const Status published = Publish("small", 1, 4000);
  ASSERT_FALSE(published.ok());
  EXPECT_EQ(published.error().code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(published.error().message, testing::HasSubstr("'small'"));
  EXPECT_THAT(Present("small"), ElementsAre(0));
}

TEST_F(QuotaActionIndexTest, Publish_Replacement_IsCountedOnce) {
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(Publish("small", i).ok());
  }
  EXPECT_THAT(Present("small"), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(index_->usage()["small"].bytes, 4000u);
}

TEST_F(QuotaActionIndexTest, Remove_FreesTheQuota) {
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(Publish("small", i).ok());
  ASSERT_TRUE(index_->Remove("small", Key(2)).ok());
  ASSERT_TRUE(Publish("small", 4).ok());
  EXPECT_THAT(Present("small"), ElementsAre(0, 1, 3, 4));
}

TEST_F(QuotaActionIndexTest, Publish_NoQuota_IsCountedAndNeverEvicts) {
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(Publish("other", i, 1 << 30).ok());
  const LedgerUsage usage = index_->usage()["other"];
  EXPECT_EQ(usage.count, 10u);
  EXPECT_EQ(usage.limit_bytes, 0u);
}

TEST_F(QuotaActionIndexTest, Open_ExistingEntries_CountByTheirPublication) {
  auto inner = std::make_unique<MemoryActionIndex>();
  for (int i = 0; i < 4; ++i) {
    ActionEntry entry = Entry();
    entry.published_unix_ns = 100 - i;  // 3 is the oldest.
    ASSERT_TRUE(inner->Publish("small", Key(i), entry, Durability::kSynced).ok());
  }
  Open(std::move(inner));
  ASSERT_TRUE(Publish("small", 4).ok());
  EXPECT_THAT(Present("small"), ElementsAre(0, 1, 4));
}

TEST_F(QuotaActionIndexTest, Publish_TooManyNamespaces_IsRefused) {
  for (std::size_t i = 0; i < kMaxNamespaces; ++i) {
    ASSERT_TRUE(Publish("n" + std::to_string(i), 0).ok());
  }
  EXPECT_EQ(Publish("one-more", 0).error().code, ErrorCode::kResourceExhausted);
  EXPECT_TRUE(Publish("n0", 1).ok());
}

TEST_F(QuotaActionIndexTest, Publish_Pinned_MakesNoRoomForOthers) {
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(Publish("small", i).ok());
  ASSERT_TRUE(index_->Pin("small", Key(0)).ok());
  ASSERT_TRUE(index_->Pin("small", Key(0)).ok());
  ASSERT_TRUE(Publish("small", 4).ok());
  EXPECT_THAT(Present("small"), ElementsAre(0, 3, 4));
  index_->Unpin("small", Key(0));
  index_->Unpin("small", Key(0));
  for (int i = 5; i < 10; ++i) ASSERT_TRUE(Publish("small", i).ok());
  EXPECT_THAT(Present("small"), testing::Not(testing::Contains(0)));
}

TEST(QuotaActionIndex, Unread_TakesATenthOfAQuota_UntilItIsLoaded) {
  auto inner = std::make_unique<MemoryActionIndex>();
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(inner->Publish("small", Key(i), Entry(), Durability::kSynced).ok());
  }
  QuotaActionIndex index(std::move(inner), {.bytes = {{"small", 4000}}, .default_bytes = 0});
  ASSERT_TRUE(index.Lookup("small", Key(0)).ok());
  ASSERT_TRUE(index.Publish("small", Key(1), Entry(100), Durability::kSynced).ok());
  EXPECT_EQ(index.Publish("small", Key(5), Entry(), Durability::kSynced).error().code,
            ErrorCode::kUnavailable);
  ASSERT_TRUE(index.Publish("other", Key(5), Entry(1 << 30), Durability::kSynced).ok());
  ASSERT_TRUE(index.Remove("small", Key(2)).ok());
  const std::atomic<bool> stop = false;
  ASSERT_TRUE(index.Load(stop).ok());
  EXPECT_EQ(index.usage()["small"].bytes, 2000 + 100 + kEntryOverheadBytes);
  EXPECT_EQ(index.usage()["other"].count, 1u);
  EXPECT_TRUE(index.Publish("small", Key(5), Entry(), Durability::kSynced).ok());
  index.Clear();
  EXPECT_EQ(index.usage()["small"].count, 0u);
}

}  // namespace
}  // namespace stoker
