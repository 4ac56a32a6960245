#include "cache/lru_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace stoker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t kSize = 1000 - kEntryOverheadBytes;  // Charged as 1000.

Digest Name(int i) { return Sha256Of(std::to_string(i)); }

BlobEntry Entry(int i, std::uint64_t bytes = kSize) {
  return {.digest = Name(i), .kind = BlobKind::kKernel, .bytes = bytes, .accessed_unix_ns = i};
}

// Holds 0 .. 8, charged 9000 of low 8000, high 9000, hard 10000.
class LruLedgerTest : public testing::Test {
 protected:
  LruLedgerTest() {
    for (int i = 0; i < 9; ++i) ledger_.Add(Entry(i));
  }

  std::vector<Digest> Leaving(std::uint64_t bytes) {
    std::vector<Digest> digests;
    const auto leaving = ledger_.MakeRoom(bytes);
    EXPECT_TRUE(leaving.ok());
    for (const BlobEntry& entry : *leaving) digests.push_back(entry.digest);
    return digests;
  }

  LruLedger ledger_{{.low = 8000, .high = 9000, .hard = 10000}};
};

TEST(Watermarks, Of_IsOrderedForEveryLimit) {
  for (const std::uint64_t limit :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1000}, ~std::uint64_t{0}}) {
    const Watermarks marks = Watermarks::Of(limit);
    EXPECT_LE(marks.low, marks.high);
    EXPECT_LE(marks.high, marks.hard);
    EXPECT_EQ(marks.hard, limit);
  }
}

TEST_F(LruLedgerTest, MakeRoom_UnderTheHighMark_TakesNothing) {
  ledger_.Remove(Name(8));
  EXPECT_THAT(Leaving(kSize), IsEmpty());
}

TEST_F(LruLedgerTest, MakeRoom_OverTheHighMark_TakesTheColdestDownToTheLowMark) {
  EXPECT_THAT(Leaving(kSize), ElementsAre(Name(0), Name(1)));
  EXPECT_EQ(ledger_.usage().bytes, 7000u);
  EXPECT_EQ(ledger_.usage().evicted_count, 2u);
  EXPECT_EQ(ledger_.usage().evicted_bytes, 2 * kSize);
}

TEST_F(LruLedgerTest, Touch_MakesHot) {
  EXPECT_TRUE(ledger_.Touch(Name(0), 100));
  EXPECT_THAT(Leaving(kSize), ElementsAre(Name(1), Name(2)));
}

TEST_F(LruLedgerTest, Touch_Absent_IsFalse) { EXPECT_FALSE(ledger_.Touch(Name(99), 100)); }

TEST_F(LruLedgerTest, Touch_ClockThatStandsStill_StillOrdersUses) {
  ledger_.Touch(Name(3), 5);
  ledger_.Touch(Name(2), 5);
  EXPECT_LT(ledger_.Find(Name(8))->accessed_unix_ns, ledger_.Find(Name(3))->accessed_unix_ns);
  EXPECT_LT(ledger_.Find(Name(3))->accessed_unix_ns, ledger_.Find(Name(2))->accessed_unix_ns);
}

TEST_F(LruLedgerTest, MakeRoom_PinnedEntries_Stay) {
  ledger_.Pin(Name(0));
  ledger_.Pin(Name(2));
  EXPECT_THAT(Leaving(kSize), ElementsAre(Name(1), Name(3)));
}

TEST_F(LruLedgerTest, Unpin_LastOfNestedPins_MakesEvictableAndHot) {
  ledger_.Pin(Name(0));
  ledger_.Pin(Name(0));
  ledger_.Unpin(Name(0));
  EXPECT_TRUE(ledger_.IsPinned(Name(0)));
  ledger_.Unpin(Name(0));
  EXPECT_FALSE(ledger_.IsPinned(Name(0)));
  EXPECT_THAT(
      Leaving(10000 - kEntryOverheadBytes),
      ElementsAre(Name(1), Name(2), Name(3), Name(4), Name(5), Name(6), Name(7), Name(8), Name(0)));
}

TEST_F(LruLedgerTest, MakeRoom_LargerThanTheHardMark_IsRefusedAndTakesNothing) {
  const auto leaving = ledger_.MakeRoom(10001 - kEntryOverheadBytes);
  ASSERT_FALSE(leaving.ok());
  EXPECT_EQ(leaving.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(ledger_.usage().count, 9u);
  EXPECT_EQ(ledger_.usage().refused_count, 1u);
}

TEST_F(LruLedgerTest, MakeRoom_PinsLeaveTooLittle_IsRefusedAndTakesNothing) {
  for (int i = 0; i < 9; ++i) ledger_.Pin(Name(i));
  EXPECT_TRUE(ledger_.MakeRoom(kSize).ok());  // Up to the hard mark.
  EXPECT_FALSE(ledger_.MakeRoom(kSize + 1).ok());
  EXPECT_EQ(ledger_.usage().count, 9u);
  EXPECT_EQ(ledger_.usage().pinned_count, 9u);
}

TEST_F(LruLedgerTest, MakeRoom_AsLargeAsTheHardMark_TakesEverything) {
  EXPECT_EQ(Leaving(10000 - kEntryOverheadBytes).size(), 9u);
  EXPECT_EQ(ledger_.usage().bytes, 0u);
}

TEST_F(LruLedgerTest, Restore_PutsBackInTheOldOrder) {
  const std::vector<BlobEntry> leaving = *ledger_.MakeRoom(kSize);
  ledger_.Restore(leaving, EvictionReason::kLimit);
  EXPECT_EQ(ledger_.usage().evicted_count, 0u);
  EXPECT_EQ(ledger_.usage().bytes, 9000u);
  EXPECT_THAT(Leaving(kSize), ElementsAre(Name(0), Name(1)));
}

TEST_F(LruLedgerTest, TakeColdest_FreesAtLeastWhatIsAsked) {
  EXPECT_EQ(ledger_.TakeColdest(1001, EvictionReason::kFreeDisk).size(), 2u);
  EXPECT_EQ(ledger_.TakeColdest(1'000'000, EvictionReason::kRequest).size(), 7u);
  EXPECT_EQ(ledger_.TakeColdest(1, EvictionReason::kRequest).size(), 0u);
  EXPECT_THAT(ledger_.usage().evicted_by, ElementsAre(0, 2, 7));
}

TEST_F(LruLedgerTest, Usage_CountsByKind) {
  ledger_.Add({.digest = Name(50), .kind = BlobKind::kGraph, .bytes = 7, .accessed_unix_ns = 50});
  const LedgerUsage usage = ledger_.usage();
  EXPECT_EQ(usage.Of(BlobKind::kKernel).count, 9u);
  EXPECT_EQ(usage.Of(BlobKind::kKernel).bytes, 9 * kSize);
  EXPECT_EQ(usage.Of(BlobKind::kGraph).count, 1u);
  EXPECT_EQ(usage.Of(BlobKind::kGraph).bytes, 7u);
  EXPECT_EQ(usage.limit_bytes, 10000u);
}

TEST_F(LruLedgerTest, Remove_Pinned_FreesItsBytes) {
  ledger_.Pin(Name(4));
  EXPECT_TRUE(ledger_.Remove(Name(4)).has_value());
  EXPECT_FALSE(ledger_.Remove(Name(4)).has_value());
  EXPECT_EQ(ledger_.usage().bytes, 8000u);
  ledger_.Add(Entry(4));  // The pin outlives the entry.
  EXPECT_EQ(ledger_.usage().pinned_count, 1u);
  ledger_.Unpin(Name(4));
  EXPECT_EQ(ledger_.usage().pinned_count, 0u);
}

// What an earlier process stored: 0 .. 8, as LruLedgerTest has it.
LruLedger Stored() {
  LruLedger stored({.low = 8000, .high = 9000, .hard = 10000});
  for (int i = 0; i < 9; ++i) stored.Add(Entry(i));
  return stored;
}

class LoadingLedgerTest : public testing::Test {
 protected:
  LoadingLedgerTest() { ledger_.BeginLoad(/*allowance_bytes=*/2000); }

  std::vector<Digest> ColdestFirst() {
    std::vector<Digest> digests;
    for (const BlobEntry& entry : ledger_.Entries()) digests.push_back(entry.digest);
    return digests;
  }

  LruLedger ledger_{{.low = 8000, .high = 9000, .hard = 10000}};
};

TEST_F(LoadingLedgerTest, EndLoad_WhatCameMeanwhile_IsHotter) {
  ledger_.Add(Entry(20));
  EXPECT_FALSE(ledger_.Touch(Name(3), 100));
  EXPECT_THAT(ledger_.EndLoad(Stored()), ElementsAre(Name(3), Name(20)));
  EXPECT_FALSE(ledger_.loading());
  EXPECT_THAT(ColdestFirst(), ElementsAre(Name(0), Name(1), Name(2), Name(4), Name(5), Name(6),
                                          Name(7), Name(8), Name(3), Name(20)));
  EXPECT_EQ(ledger_.usage().bytes, 10000u);
}

TEST_F(LoadingLedgerTest, EndLoad_ClockWentBack_StillOrdersUses) {
  ledger_.Add({.digest = Name(20), .kind = BlobKind::kKernel, .bytes = 1, .accessed_unix_ns = -50});
  ledger_.EndLoad(Stored());
  EXPECT_GT(ledger_.Find(Name(20))->accessed_unix_ns, ledger_.Find(Name(8))->accessed_unix_ns);
}

TEST_F(LoadingLedgerTest, EndLoad_WhatWasRemovedMeanwhile_StaysAway) {
  ledger_.Remove(Name(1));
  ledger_.Remove(Name(2));
  ledger_.Add(Entry(2, 7));  // Stored again, with another size.
  ledger_.EndLoad(Stored());
  EXPECT_EQ(ledger_.Find(Name(1)), nullptr);
  EXPECT_EQ(ledger_.Find(Name(2))->bytes, 7u);
  EXPECT_EQ(ledger_.usage().count, 8u);
}

TEST_F(LoadingLedgerTest, EndLoad_PinsTakenMeanwhile_Hold) {
  ledger_.Pin(Name(0));
  ledger_.Pin(Name(0));
  ledger_.EndLoad(Stored());
  EXPECT_EQ(ledger_.usage().pinned_bytes, 1000u);
  ledger_.Unpin(Name(0));
  EXPECT_TRUE(ledger_.IsPinned(Name(0)));
  ledger_.Unpin(Name(0));
  EXPECT_EQ(ledger_.usage().pinned_count, 0u);
}

TEST_F(LoadingLedgerTest, MakeRoom_UpToTheAllowance_ThenUnavailableUntilItIsLoaded) {
  EXPECT_TRUE(ledger_.MakeRoom(kSize).ok());
  ledger_.Add(Entry(20));
  EXPECT_TRUE(ledger_.MakeRoom(kSize).ok());
  const auto refused = ledger_.MakeRoom(kSize + 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(ledger_.TakeColdest(1000, EvictionReason::kFreeDisk), IsEmpty());
  ledger_.EndLoad(Stored());
  EXPECT_EQ(ledger_.MakeRoom(kSize + 1)->size(), 4u);  // From 10000, which is over the high mark.
  EXPECT_EQ(ledger_.usage().refused_count, 1u);
}

TEST_F(LoadingLedgerTest, Touch_OfTheUnknown_IsRememberedUpToALimit) {
  for (std::size_t i = 0; i < kMaxUsesWhileLoading; ++i) ledger_.Touch(Name(99), 1);
  ledger_.Touch(Name(0), 100);
  EXPECT_THAT(ledger_.EndLoad(Stored()), IsEmpty());
}

}  // namespace
}  // namespace stoker
