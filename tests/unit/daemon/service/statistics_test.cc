#include "daemon/service/statistics.h"

#include <gtest/gtest.h>

#include "cache/memory_counter_store.h"

namespace stoker {
namespace {

TEST(Statistics, Flush_ThenOpenAgain_TotalsGoOn) {
  MemoryCounterStore store;
  {
    const auto statistics = Statistics::Open(store);
    ASSERT_TRUE(statistics.ok());
    (*statistics)->Add("hits", 2);
    (*statistics)->Add("hits");
    ASSERT_TRUE((*statistics)->Flush().ok());
    ASSERT_TRUE((*statistics)->Flush().ok());  // Nothing is written twice.
  }
  const auto statistics = Statistics::Open(store);
  ASSERT_TRUE(statistics.ok());
  EXPECT_EQ((*statistics)->Total("hits"), 3);
  (*statistics)->Add("hits");
  EXPECT_EQ((*statistics)->Total("hits"), 4);
  EXPECT_EQ((*statistics)->Total("misses"), 0);
}

TEST(Statistics, Add_MoreNamesThanTheLimit_CountsTheRestTogether) {
  MemoryCounterStore store;
  const auto statistics = Statistics::Open(store);
  ASSERT_TRUE(statistics.ok());
  for (std::size_t i = 0; i < kMaxStatistics + 10; ++i) {
    (*statistics)->Add("op." + std::to_string(i));
  }
  EXPECT_GE((*statistics)->Total(kOverflowCounter), 10);
  EXPECT_TRUE((*statistics)->Flush().ok());
}

}  // namespace
}  // namespace stoker
