#include "daemon/observe/activity.h"

#include <gmock/gmock.h>

#include "tests/unit/daemon/observe/every_namespace.h"

namespace stoker {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class ActivityTest : public testing::Test {
 protected:
  std::int64_t now_s_ = 1'000'020;
  Activity activity_{[this] { return now_s_; }};
};

TEST_F(ActivityTest, Busiest_SumsTheLastMinutes) {
  activity_.Add("a", "train", {.hits = 1, .misses = 2});
  now_s_ += 60;
  activity_.Add("a", "train", {.hits = 10, .compiles = 3, .compile_seconds = 1.5});
  auto rows = activity_.Busiest(All, 10);
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].name_space, "a");
  EXPECT_EQ(rows[0].name, "train");
  EXPECT_EQ(rows[0].counts.hits, 11U);
  EXPECT_EQ(rows[0].counts.misses, 2U);
  EXPECT_EQ(rows[0].counts.compiles, 3U);
  EXPECT_EQ(rows[0].counts.compile_seconds, 1.5);
  now_s_ += (Activity::kMinutes - 1) * 60;
  rows = activity_.Busiest(All, 10);
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].counts.hits, 10U);  // The first minute is over.
  now_s_ += 60;
  EXPECT_THAT(activity_.Busiest(All, 10), IsEmpty());
}

TEST_F(ActivityTest, Busiest_HasMostRequestsFirst_OfWhatIsVisible) {
  activity_.Add("a", "few", {.hits = 1});
  activity_.Add("a", "many", {.hits = 5});
  activity_.Add("a", "slow", {.hits = 1, .compile_seconds = 9});
  activity_.Add("secret", "most", {.misses = 100});
  activity_.Add("a", "", {.hits = 1000});  // Nobody's.
  const auto rows = activity_.Busiest([](std::string_view ns) { return ns == "a"; }, 2);
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[0].name, "many");
  EXPECT_EQ(rows[1].name, "slow");
}

TEST_F(ActivityTest, IsBounded_WhoWasBusyLastStays) {
  activity_.Add("a", "old", {.hits = 100});
  now_s_ += 60;
  for (std::size_t i = 0; i < Activity::kMaxNames; ++i) {
    activity_.Add("a", std::to_string(i), {.hits = 1});
  }
  const auto rows = activity_.Busiest(All, 10 * Activity::kMaxNames);
  EXPECT_THAT(rows, SizeIs(Activity::kMaxNames));
  for (const Activity::Row& row : rows) EXPECT_NE(row.name, "old");
  activity_.Add("a", std::string(1000, 'x'), {.hits = 1000});
  EXPECT_EQ(activity_.Busiest(All, 1)[0].name, std::string(Activity::kMaxNameBytes, 'x'));
}

}  // namespace
}  // namespace stoker
