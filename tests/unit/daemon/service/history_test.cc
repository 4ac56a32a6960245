#include "daemon/service/statistics/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stoker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

constexpr std::int64_t kStart = 1'700'002'800;  // The begin of an hour and of a minute.
constexpr std::int64_t kForever = 0;

// Adds one hit at the end of each of `count` steps; gives the last moment.
std::int64_t Pass(History& history, std::int64_t now_s, std::int64_t step_s, int count,
                  Counters& totals) {
  for (int i = 0; i < count; ++i) {
    now_s += step_s;
    totals["hits"] += 1;
    history.Record(now_s, totals);
  }
  return now_s;
}

TEST(History, Since_NothingRecorded_IsWhatWasAddedSinceTheStart) {
  const History history(kStart, {{"hits", 5}});
  EXPECT_THAT(history.Since(kForever, kStart + 10, {{"hits", 7}, {"misses", 1}}).added,
              ElementsAre(Pair("hits", 2), Pair("misses", 1)));
}

TEST(History, Record_WithinAMinute_EndsNoRow) {
  History history(kStart, {});
  history.Record(kStart + kHistoryMinuteS - 1, {{"hits", 1}});
  EXPECT_THAT(history.Since(kStart + 30, kStart + 59, {{"hits", 1}}).added,
              ElementsAre(Pair("hits", 1)));
  history.Record(kStart + kHistoryMinuteS, {{"hits", 1}});
  EXPECT_THAT(history.Since(kStart + kHistoryMinuteS, kStart + 61, {{"hits", 1}}).added, IsEmpty());
}

TEST(History, Record_Always_EndsARow) {
  History history(kStart, {});
  history.Record(kStart + 1, {{"hits", 1}}, /*always=*/true);
  EXPECT_THAT(history.Since(kStart + 1, kStart + 2, {{"hits", 1}}).added, IsEmpty());
}

TEST(History, Since_AMomentWithinARow_CountsTheWholeRowAndSaysSo) {
  History history(kStart, {});
  Counters totals;
  const std::int64_t now = Pass(history, kStart, kHistoryMinuteS, 10, totals);
  const History::Row row = history.Since(now - 150, now, totals);
  EXPECT_EQ(row.begin_s, now - 3 * kHistoryMinuteS);
  EXPECT_EQ(row.end_s, now);
  EXPECT_THAT(row.added, ElementsAre(Pair("hits", 3)));
}

TEST(History, Rows_OfAnHour_HoldWhatSinceHolds) {
  History history(kStart, {});
  Counters totals;
  const std::int64_t now = Pass(history, kStart, kHistoryMinuteS, 120, totals) + 30;
  totals["hits"] += 5;
  const auto rows = history.Rows(now - kHistoryHourS, now, 12, totals);
  ASSERT_EQ(rows.size(), 12);
  double hits = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].end_s - rows[i].begin_s, 300);
    EXPECT_EQ(rows[i].begin_s, i == 0 ? now - kHistoryHourS : rows[i - 1].end_s);
    hits += rows[i].added.at("hits");
  }
  EXPECT_EQ(hits, history.Since(now - kHistoryHourS, now, totals).added.at("hits"));
  EXPECT_EQ(rows.front().added.at("hits"), 5);
  EXPECT_EQ(rows.back().added.at("hits"), 10);
}

TEST(History, Record_ADayLater_KeepsHoursAndLosesNothing) {
  History history(kStart, {});
  Counters totals;
  const std::int64_t now = Pass(history, kStart, kHistoryMinuteS, 3 * 24 * 60, totals);
  EXPECT_THAT(history.Since(kForever, now, totals).added, ElementsAre(Pair("hits", 3 * 24 * 60)));
  // Whole hours there, minutes here.
  EXPECT_THAT(history.Since(now - 2 * kHistoryFineS + 1, now, totals).added,
              ElementsAre(Pair("hits", 2 * 24 * 60)));
  EXPECT_THAT(history.Since(now - 600, now, totals).added, ElementsAre(Pair("hits", 10)));
}

TEST(History, Record_ForYears_ForgetsWhatIsOlderThanItsLongest) {
  History history(kStart, {});
  Counters totals;
  const std::int64_t now = Pass(history, kStart, kHistoryHourS, 400 * 24, totals);
  EXPECT_THAT(history.Since(kForever, now, totals).added, ElementsAre(Pair("hits", 90 * 24)));
}

TEST(History, Record_ClockSetBack_CountsOnceAndNotInTheFuture) {
  History history(kStart, {});
  Counters totals;
  Pass(history, kStart, kHistoryMinuteS, 10, totals);
  totals["hits"] += 1;
  history.Record(kStart - 1000, totals);
  EXPECT_THAT(history.Since(kForever, kStart - 1000, totals).added, ElementsAre(Pair("hits", 11)));
  EXPECT_THAT(history.Since(kStart - 1000, kStart - 990, totals).added, IsEmpty());
}

TEST(History, Record_CountersOfEntries_AreLeftOut) {
  const History history(kStart, {});
  EXPECT_THAT(history.Since(kForever, kStart + 1, {{"entry.ns.abc.hits", 3}}).added, IsEmpty());
}

TEST(History, Record_MoreCountersThanARowHolds_KeepsTheLimit) {
  Counters totals;
  for (std::size_t i = 0; i < kMaxCountersOfARow + 10; ++i) totals["c" + std::to_string(i)] = 1;
  const History history(kStart, {});
  EXPECT_EQ(history.Since(kForever, kStart + 1, totals).added.size(), kMaxCountersOfARow);
}

TEST(History, Decode_WhatWasEncoded_IsThePastOfANewOne) {
  History history(kStart, {});
  Counters totals;
  const std::int64_t now = Pass(history, kStart, kHistoryMinuteS, 2 * 24 * 60, totals);
  History next(now, totals);
  ASSERT_TRUE(next.Decode(history.Encode()).ok());
  EXPECT_EQ(next.Since(kForever, now, totals), history.Since(kForever, now, totals));
  EXPECT_EQ(next.Encode(), history.Encode());
}

TEST(History, Decode_EveryTruncationAndEveryFlippedByte_IsRefused) {
  History history(kStart, {});
  Counters totals;
  Pass(history, kStart, kHistoryMinuteS, 3, totals);
  const std::string sound = history.Encode();
  for (std::size_t i = 0; i < sound.size(); ++i) {
    std::string damaged = sound;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_FALSE(History(kStart, {}).Decode(sound.substr(0, i)).ok()) << i;
    EXPECT_FALSE(History(kStart, {}).Decode(damaged).ok()) << i;
  }
}

}  // namespace
}  // namespace stoker
