#include "daemon/service/statistics/statistics.h"

#include <gmock/gmock.h>

#include "cache/memory/memory_counter_store.h"
#include "cache/stack/stack.h"
#include "tests/unit/temp_folder.h"

namespace stoker {
namespace {

using testing::ElementsAre;
using testing::Pair;

class FailingStore : public MemoryCounterStore {
 public:
  Status Add(const Counters& deltas) override {
    if (fails) return Unavailable("The disk is full.");
    return MemoryCounterStore::Add(deltas);
  }
  bool fails = false;
};

TEST(Statistics, Totals_SumWhatWasAdded) {
  MemoryCounterStore store;
  auto statistics = Statistics::Open(store);
  ASSERT_TRUE(statistics.ok());
  (*statistics)->Add("hits");
  (*statistics)->Add("hits", 2);
  (*statistics)->Add("seconds", 0.5);
  EXPECT_THAT((*statistics)->Totals(), ElementsAre(Pair("hits", 3), Pair("seconds", 0.5)));
  EXPECT_EQ((*statistics)->Total("hits"), 3);
  EXPECT_EQ((*statistics)->Total("none"), 0);
}

TEST(Statistics, Flush_SurvivesARestart) {
  TempFolder folder;
  StackConfig config;
  config.path = folder.path() + "/store";
  for (int run = 1; run <= 3; ++run) {
    auto stack = CacheStack::Open(config, nullptr);
    ASSERT_TRUE(stack.ok()) << stack.error().message;
    auto statistics = Statistics::Open((*stack)->counters());
    ASSERT_TRUE(statistics.ok());
    (*statistics)->Add("hits", 2);
    ASSERT_TRUE((*statistics)->Flush().ok());
    (*statistics)->Add("hits", 1);
    ASSERT_TRUE((*statistics)->Flush().ok());
    EXPECT_EQ((*statistics)->Total("hits"), 3 * run);
  }
}

TEST(Statistics, Flush_Fails_IsMadeUpForLater) {
  FailingStore store;
  auto statistics = Statistics::Open(store);
  ASSERT_TRUE(statistics.ok());
  (*statistics)->Add("hits");
  store.fails = true;
  EXPECT_FALSE((*statistics)->Flush().ok());
  (*statistics)->Add("hits");
  store.fails = false;
  EXPECT_TRUE((*statistics)->Flush().ok());
  EXPECT_THAT(*store.Load(), ElementsAre(Pair("hits", 2)));
}

TEST(Statistics, Add_BeyondTheLimits_StillFlushes) {
  MemoryCounterStore store;
  auto statistics = Statistics::Open(store);
  ASSERT_TRUE(statistics.ok());
  for (std::size_t i = 0; i < kMaxStatistics; ++i) {
    (*statistics)->Add("client." + std::to_string(i));
  }
  (*statistics)->Add("one too many");
  (*statistics)->Add("two too many", 2);
  (*statistics)->Add("client.0");
  EXPECT_EQ((*statistics)->Total(kOverflowCounter), 3);
  EXPECT_EQ((*statistics)->Total("client.0"), 2);
  EXPECT_TRUE((*statistics)->Flush().ok());
}

// What a client says is in /metrics, which is UTF-8 or not read at all.
TEST(Statistics, AddLabelled_IsBounded_AndText) {
  MemoryCounterStore store;
  auto opened = Statistics::Open(store);
  ASSERT_TRUE(opened.ok());
  Statistics& statistics = **opened;
  std::string umlauts;
  while (umlauts.size() < 2 * kMaxStatisticLabelBytes) umlauts += "\xC3\xBC";
  statistics.AddLabelled("client.", umlauts + "x");
  statistics.AddLabelled("client.", "x" + umlauts);
  statistics.AddLabelled("client.", "a\nb\xFF\x7F");
  statistics.AddLabelled("client.", "");
  statistics.AddLabelled("ns.", "a.b", ".hits", 2);
  const std::string even = umlauts.substr(0, kMaxStatisticLabelBytes);
  const std::string odd = "x" + umlauts.substr(0, kMaxStatisticLabelBytes - 2);
  EXPECT_THAT(statistics.Totals(),
              ElementsAre(Pair("client.a?b??", 1), Pair("client.none", 1), Pair("client." + odd, 1),
                          Pair("client." + even, 1), Pair("ns.a.b.hits", 2)));
}

TEST(Statistics, AddLabelled_BeyondTheNumberOfAFamily_CountsAsOther_AlsoAfterARestart) {
  MemoryCounterStore store;
  for (int run = 0; run < 2; ++run) {
    auto statistics = Statistics::Open(store);
    ASSERT_TRUE(statistics.ok());
    for (std::size_t i = 0; i < kMaxLabelsOfAFamily; ++i) {
      (*statistics)->AddLabelled("op.", std::to_string(i));
    }
    (*statistics)->AddLabelled("op.", "one too many " + std::to_string(run));
    (*statistics)->AddLabelled("else.", "has room");
    EXPECT_EQ((*statistics)->Total("op.other"), run + 1);
    EXPECT_EQ((*statistics)->Total("op.0"), run + 1);
    EXPECT_EQ((*statistics)->Total("else.has room"), run + 1);
    ASSERT_TRUE((*statistics)->Flush().ok());
  }
}

TEST(Statistics, Add_WithoutEnd_StaysANumber) {
  MemoryCounterStore store;
  for (int run = 0; run < 2; ++run) {
    auto statistics = Statistics::Open(store);
    ASSERT_TRUE(statistics.ok());
    for (int i = 0; i < 2; ++i) (*statistics)->AddLabelled("client.", "big", "", 1.7e308);
    EXPECT_EQ((*statistics)->Total("client.big"), kMaxCount);
    EXPECT_TRUE((*statistics)->Flush().ok());
  }
  EXPECT_THAT(*store.Load(), ElementsAre(Pair("client.big", kMaxCount)));
}

TEST(Statistics, Open_MendsNamesOfEarlierVersions) {
  MemoryCounterStore store;
  ASSERT_TRUE(store.Add({{"client.\xC3", 1}, {"client.?", 2}}).ok());
  auto statistics = Statistics::Open(store);
  ASSERT_TRUE(statistics.ok());
  EXPECT_THAT((*statistics)->Totals(), ElementsAre(Pair("client.?", 3)));
}

TEST(Statistics, Add_LongName_IsCut) {
  MemoryCounterStore store;
  auto statistics = Statistics::Open(store);
  ASSERT_TRUE(statistics.ok());
  (*statistics)->Add(std::string(kMaxCounterNameBytes + 1, 'x'));
  EXPECT_TRUE((*statistics)->Flush().ok());
  EXPECT_EQ((*statistics)->Total(std::string(kMaxCounterNameBytes, 'x')), 1);
}

}  // namespace
}  // namespace stoker
