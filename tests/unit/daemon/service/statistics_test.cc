#include "daemon/service/statistics.h"

#include <gmock/gmock.h>

#include "cache/memory_counter_store.h"
#include "cache/stack.h"
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
