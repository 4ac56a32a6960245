#include "daemon/observe/miss_memory.h"

#include <gmock/gmock.h>

#include "tests/unit/daemon/observe/every_namespace.h"

namespace stoker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

Miss MissOf(const std::string& ns, const std::string& job, const std::string& key, double unix_s) {
  Miss miss;
  miss.name_space = ns;
  miss.job = job;
  miss.key = Sha256Of(key);
  miss.reason = "no entry";
  miss.unix_s = unix_s;
  return miss;
}

TEST(MissMemory, OfJob_IsNewestFirst) {
  MissMemory memory;
  memory.Remember(MissOf("a", "train", "1", 1));
  memory.Remember(MissOf("a", "train", "2", 2));
  memory.Remember(MissOf("a", "serve", "3", 3));
  const auto misses = memory.OfJob("train", All);
  ASSERT_THAT(misses, SizeIs(2));
  EXPECT_EQ(misses[0].key, Sha256Of("2"));
  EXPECT_EQ(misses[1].key, Sha256Of("1"));
  EXPECT_THAT(memory.OfJob("other", All), IsEmpty());
  EXPECT_THAT(memory.Jobs(All), ElementsAre("serve", "train"));
}

TEST(MissMemory, TheSameKeyAgain_IsOneMissManyTimes) {
  MissMemory memory;
  for (int rank = 0; rank < 8; ++rank) memory.Remember(MissOf("a", "train", "1", rank));
  const auto misses = memory.OfJob("train", All);
  ASSERT_THAT(misses, SizeIs(1));
  EXPECT_EQ(misses[0].times, 8U);
  EXPECT_EQ(misses[0].unix_s, 7);
}

TEST(MissMemory, OfKey_FindsBeginningsInEveryJob) {
  MissMemory memory;
  memory.Remember(MissOf("a", "train", "1", 1));
  memory.Remember(MissOf("b", "serve", "1", 2));
  memory.Remember(MissOf("b", "serve", "2", 3));
  const std::string hex = Sha256Of("1").ToHex();
  EXPECT_THAT(memory.OfKey(hex, All), SizeIs(2));
  EXPECT_THAT(memory.OfKey(hex.substr(0, 8), All), SizeIs(2));
  EXPECT_THAT(memory.OfKey("", All), SizeIs(3));
}

TEST(MissMemory, OtherNamespaces_AreNotSeen) {
  MissMemory memory;
  memory.Remember(MissOf("a", "train", "1", 1));
  memory.Remember(MissOf("b", "train", "1", 2));
  const Visible only_a = [](std::string_view ns) { return ns == "a"; };
  ASSERT_THAT(memory.OfJob("train", only_a), SizeIs(1));
  EXPECT_EQ(memory.OfJob("train", only_a)[0].name_space, "a");
  EXPECT_THAT(memory.OfKey(Sha256Of("1").ToHex(), only_a), SizeIs(1));
  EXPECT_THAT(memory.Jobs([](std::string_view ns) { return ns == "c"; }), IsEmpty());
}

TEST(MissMemory, IsBounded_InMissesJobsAndText) {
  MissMemory memory;
  const auto name_of = [](std::size_t i) { return std::to_string(i); };
  for (std::size_t i = 0; i < MissMemory::kMaxMissesOfAJob + 5; ++i) {
    memory.Remember(MissOf("a", "train", name_of(i), static_cast<double>(i)));
  }
  const auto misses = memory.OfJob("train", All);
  ASSERT_THAT(misses, SizeIs(MissMemory::kMaxMissesOfAJob));
  EXPECT_EQ(misses.back().key, Sha256Of("5"));  // The first five are forgotten.
  for (std::size_t i = 0; i < MissMemory::kMaxJobs; ++i) {
    memory.Remember(MissOf("a", "job" + name_of(i), "1", 1));
  }
  EXPECT_THAT(memory.OfJob("train", All), IsEmpty());
  EXPECT_THAT(memory.Jobs(All), SizeIs(MissMemory::kMaxJobs));
  Miss large = MissOf("a", "large", "1", 1);
  large.text = std::string(100000, 'x');
  large.nearest = NearestRequest{Sha256Of("2"), large.text, large.text, large.text};
  memory.Remember(large);
  const Miss kept = memory.OfJob("large", All).at(0);
  for (const std::string& text :
       {kept.text, kept.nearest->field, kept.nearest->theirs, kept.nearest->ours}) {
    EXPECT_EQ(text, std::string(MissMemory::kMaxTextBytes, 'x') + "...");
  }
}

}  // namespace
}  // namespace stoker
