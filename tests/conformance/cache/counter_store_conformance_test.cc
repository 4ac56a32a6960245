// What every CounterStore must do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "cache/counter_store.h"
#include "tests/conformance/cache/stores.h"

namespace stoker {
namespace {

class CounterStoreConformance : public testing::TestWithParam<CounterStoreCase> {
 protected:
  std::unique_ptr<CounterStoreFixture> fixture_ = GetParam().make();
  CounterStore& counters_ = fixture_->counters();
};

TEST_P(CounterStoreConformance, Load_Fresh_IsEmpty) {
  EXPECT_THAT(*counters_.Load(), testing::IsEmpty());
}

TEST_P(CounterStoreConformance, Add_Sums) {
  ASSERT_TRUE(counters_.Add({{"hits", 2}, {"seconds_saved", 1.5}}).ok());
  ASSERT_TRUE(counters_.Add({{"hits", 3}, {"misses", 1}}).ok());
  EXPECT_EQ(*counters_.Load(), (Counters{{"hits", 5}, {"misses", 1}, {"seconds_saved", 1.5}}));
}

TEST_P(CounterStoreConformance, Add_BadName_ChangesNothing) {
  EXPECT_EQ(counters_.Add({{"", 1}, {"hits", 1}}).error().code, ErrorCode::kInvalidArgument);
  const std::string long_name(kMaxCounterNameBytes + 1, 'n');
  EXPECT_EQ(counters_.Add({{"hits", 1}, {long_name, 1}}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(*counters_.Load(), testing::IsEmpty());
}

TEST_P(CounterStoreConformance, Add_TooManyCounters_IsRefused) {
  Counters many;
  for (std::size_t i = 0; i < kMaxCounters; ++i) many["c" + std::to_string(i)] = 1;
  ASSERT_TRUE(counters_.Add(many).ok());
  EXPECT_EQ(counters_.Add({{"one more", 1}}).error().code, ErrorCode::kResourceExhausted);
  EXPECT_TRUE(counters_.Add({{"c0", 1}}).ok());
}

TEST_P(CounterStoreConformance, ConcurrentAdd_LosesNothing) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 250; ++i) EXPECT_TRUE(counters_.Add({{"hits", 1}}).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counters_.Load()->at("hits"), 1000);
}

INSTANTIATE_TEST_SUITE_P(Stores, CounterStoreConformance, testing::ValuesIn(CounterStoreCases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace stoker
